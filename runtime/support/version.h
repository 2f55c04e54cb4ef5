/*
 * Version of this build.
 *
 * The default definition is weak and knows no commit, so that a commit relinks the installed
 * programs and the plugin, which add the object library kiln_build_version, and no test.
 */
#ifndef KILN_RUNTIME_SUPPORT_VERSION_H
#define KILN_RUNTIME_SUPPORT_VERSION_H

#include <stdbool.h>

struct kiln_version {
    const char *number; /* "0.1.0" */
    const char *commit; /* abbreviated hash of the git commit; NULL: unknown */
    bool is_modified;   /* the source differs from that commit */
    const char *text;   /* all of it as semantic versioning has it: "0.1.0+4e4309d1a2b3.dirty" */
};

extern const struct kiln_version kiln_version;

#endif
