/*
 * The place of the library or program that this code is linked into, so that an installation finds
 * its own files wherever it was moved.
 */
#ifndef KILN_SUPPORT_OWN_PATH_H
#define KILN_SUPPORT_OWN_PATH_H

#include <stdbool.h>

/* The path of the library or program, links resolved, to be freed; NULL when it cannot be told.
 * `ret_is_program` may be NULL. */
char *kiln_own_path(bool *ret_is_program);

/* A place relative to the directory of kiln_own_path, one for libraries and one for programs, to be
 * freed; NULL when the directory cannot be told. An absolute place is returned as it is. */
char *kiln_path_from_own(const char *from_library, const char *from_program);

#endif
