/*
 * Keeping the library that holds this code loaded.
 */
#ifndef KILN_RUNTIME_SUPPORT_LIBRARY_LIFETIME_H
#define KILN_RUNTIME_SUPPORT_LIBRARY_LIFETIME_H

/* The library stays loaded until the process exits, however often a host closes it. Does nothing in
 * a program, which is never unloaded. */
void kiln_library_keep_loaded(void);

#endif
