#include "runtime/support/file_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as many as the kernel follows */

static enum kiln_status fail_without_memory(const char *path, struct kiln_error *error)
{
    return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while writing '%s'", path);
}

static enum kiln_status refuse(const char *path, mode_t mode, struct kiln_error *error)
{
    if (S_ISDIR(mode))
        return kiln_error_set(error, KILN_IO, "cannot write '%s': it is a directory", path);
    enum kiln_status status =
        kiln_error_set(error, KILN_IO, "cannot write '%s': it is not an ordinary file", path);
    kiln_error_hint(error,
                    "what is written takes the place of a file: name an ordinary one, or one "
                    "that is not there yet");
    return status;
}

/* Puts what the link names in the place of `path`: as seen from the link's directory. */
static enum kiln_status follow_link(char **path, struct kiln_error *error)
{
    char text[PATH_MAX];
    ssize_t length = readlink(*path, text, sizeof text - 1);
    if (length < 0)
        return kiln_error_set(error, KILN_IO, "cannot read the link '%s': %m", *path);
    text[length] = '\0';
    const char *slash = strrchr(*path, '/');
    int directory = *text != '/' && slash != NULL ? (int)(slash - *path) + 1 : 0;
    char *target;
    if (asprintf(&target, "%.*s%s", directory, *path, text) < 0)
        return fail_without_memory(*path, error);
    free(*path);
    *path = target;
    return KILN_OK;
}

enum kiln_status kiln_file_target(const char *path, bool follow, char **ret_path,
                                  struct kiln_error *error)
{
    struct stat attributes;
    /* What is at the end of all links; the paths that /proc shows for pipes lead nowhere. */
    int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
    if (fstatat(AT_FDCWD, path, &attributes, flags) == 0) {
        if (!S_ISREG(attributes.st_mode) && !S_ISLNK(attributes.st_mode))
            return refuse(path, attributes.st_mode, error);
    } else if (errno != ENOENT) {
        return kiln_error_set(error, KILN_IO, "cannot write '%s': %m", path);
    }
    char *target = strdup(path);
    if (target == NULL)
        return fail_without_memory(path, error);
    enum kiln_status status = KILN_OK;
    for (unsigned links = 0; follow && status == KILN_OK; links++) {
        if (fstatat(AT_FDCWD, target, &attributes, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISLNK(attributes.st_mode))
            break;
        if (links == MOST_LINKS) {
            errno = ELOOP;
            status = kiln_error_set(error, KILN_IO, "cannot write '%s': %m", path);
        } else {
            status = follow_link(&target, error);
        }
    }
    if (status == KILN_OK)
        *ret_path = target;
    else
        free(target);
    return status;
}
