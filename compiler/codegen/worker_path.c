/* Finding the kiln-compile program. */
#include "compiler/codegen/worker_process.h"

#include "runtime/support/environment.h"
#include "runtime/support/own_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Places relative to the directory of the library or program that this code is in. The build gives
 * the two of an installation: from the plugin's directory and from that of programs. The others are
 * those of the build tree.
 */
static const char *const places[] = {
    KILN_WORKER_FROM_PLUGIN,
    KILN_WORKER_FROM_PROGRAM,
    "../compiler/codegen/kiln-compile",
    "../../compiler/codegen/kiln-compile",
    "../../../compiler/codegen/kiln-compile",
    "kiln-compile",
};

/* A program that root or we ourselves put there: in a directory like /tmp others could. */
static bool is_trusted_program(const char *path)
{
    struct stat attributes;
    return stat(path, &attributes) == 0 && S_ISREG(attributes.st_mode) &&
           (attributes.st_uid == 0 || attributes.st_uid == geteuid()) &&
           (attributes.st_mode & S_IWOTH) == 0 && access(path, X_OK) == 0;
}

static char *find_beside_us(void)
{
    char *own = kiln_own_path(NULL);
    char *slash = own != NULL ? strrchr(own, '/') : NULL;
    char *found = NULL;
    for (size_t i = 0; slash != NULL && found == NULL && i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        int length = *places[i] == '/' ? snprintf(path, sizeof path, "%s", places[i])
                                       : snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own),
                                                  own, places[i]);
        if (length > 0 && (size_t)length < sizeof path && is_trusted_program(path))
            found = realpath(path, NULL);
    }
    free(own);
    return found;
}

enum kiln_status kiln_worker_find(const char *configured, char **ret_path, struct kiln_error *error)
{
    if (configured == NULL || *configured == '\0')
        configured = kiln_environment_text(KILN_ENVIRONMENT_KILN_COMPILE_WORKER);
    bool is_configured = configured != NULL && *configured != '\0';
    char *path = is_configured ? realpath(configured, NULL) : find_beside_us();
    if (path == NULL || access(path, X_OK) != 0) {
        (void)kiln_error_set(error, KILN_UNSUPPORTED, "there is no compile worker '%s'",
                             is_configured ? configured : "kiln-compile");
        kiln_error_hint(error, "KILN_COMPILE_WORKER names the worker; KILN_COMPILE_IN_PROCESS=1 "
                               "does without");
        free(path);
        return KILN_UNSUPPORTED;
    }
    *ret_path = path;
    return KILN_OK;
}
