#include "cache/cache_directory.h"

#include "runtime/support/environment.h"
#include "runtime/support/file.h"
#include "runtime/support/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *set_value(const char *variable)
{
    const char *value = secure_getenv(variable);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The XDG specification has relative paths ignored; they would be another place in each directory
 * that a program is started in. */
static const char *absolute_value(const char *variable)
{
    const char *value = set_value(variable);
    return value != NULL && *value == '/' ? value : NULL;
}

bool kiln_cache_is_disabled(void)
{
    return kiln_environment_is_on("HIPDNN_DISABLE_CACHE");
}

enum kiln_status kiln_cache_directory_choose(const char *directory, char **ret_path,
                                             struct kiln_error *error)
{
    const char *base = directory;
    const char *below = "";
    if (base == NULL)
        base =
            kiln_cache_is_disabled() ? "" : kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR);
    if (base != NULL && directory == NULL && *base == '\0') {
        *ret_path = NULL;
        return KILN_OK;
    }
    if (base == NULL && (base = set_value("HIPDNN_CACHE_DIR")) != NULL)
        below = "/kiln";
    if (base == NULL && (base = absolute_value("XDG_CACHE_HOME")) != NULL)
        below = "/kiln";
    if (base == NULL && (base = absolute_value("HOME")) != NULL)
        below = "/.cache/kiln";
    if (base == NULL) {
        enum kiln_status status =
            kiln_error_set(error, KILN_NOT_FOUND, "no environment variable names a place for it");
        kiln_error_hint(error, "set KILN_CACHE_DIR");
        return status;
    }
    char *path = NULL;
    if (asprintf(&path, "%s%s", base, below) < 0)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while naming a directory");
    /* open() would follow a symbolic link with a slash behind it, whatever its flags say. */
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    *ret_path = path;
    return KILN_OK;
}

static const char others_may_write[] = "other users may write to it";

const char *kiln_cache_directory_distrust(const struct stat *attributes, bool is_layer)
{
    if (attributes->st_uid != geteuid() && !(is_layer && attributes->st_uid == 0))
        return "it belongs to another user";
    if ((attributes->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return others_may_write;
    return NULL;
}

void kiln_cache_directory_distrust_hint(const char *reason, const char *path,
                                        struct kiln_error *error)
{
    if (strcmp(reason, others_may_write) == 0)
        kiln_error_hint(error, "chmod go-w '%s'", path);
}

/* Opens a directory and checks what was opened, not what the path says. `follow`: 0 or O_NOFOLLOW.
 * With -1 either `ret_reason` is set or errno says why. */
static int open_trusted(int parent, const char *path, int follow, bool is_layer,
                        const char **ret_reason)
{
    int descriptor;
    do {
        descriptor = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        struct stat link;
        int open_errno = errno;
        /* ENOENT, the usual case, is no link that was not followed. */
        if (open_errno != ENOENT && follow != 0 &&
            fstatat(parent, path, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode))
            *ret_reason = "it is a symbolic link";
        else
            *ret_reason = NULL;
        errno = open_errno;
        return -1;
    }
    struct stat attributes;
    if (fstat(descriptor, &attributes) != 0)
        *ret_reason = "its owner cannot be found out";
    else
        *ret_reason = kiln_cache_directory_distrust(&attributes, is_layer);
    if (*ret_reason == NULL)
        return descriptor;
    (void)close(descriptor);
    return -1;
}

/* A path that leads to a file is a mistake of the user: the machine is not at fault. */
static enum kiln_status status_of_open(int number)
{
    return number == ENOTDIR ? KILN_BAD_ARGUMENT : kiln_status_of_errno(number);
}

static enum kiln_status open_path(const char *path, bool is_layer,
                                  struct kiln_cache_directory *ret_directory,
                                  struct kiln_error *error)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening '%s'", path);
    const char *reason;
    int descriptor = open_trusted(AT_FDCWD, path, is_layer ? 0 : O_NOFOLLOW, is_layer, &reason);
    if (descriptor < 0) {
        enum kiln_status status = reason == NULL ? status_of_open(errno) : KILN_IO;
        if (reason != NULL) {
            (void)kiln_error_set(error, status, "cannot use the directory '%s': %s", path, reason);
            kiln_cache_directory_distrust_hint(reason, path, error);
        } else {
            (void)kiln_error_set(error, status, "cannot open the directory '%s': %m", path);
        }
        free(copy);
        return status;
    }
    *ret_directory =
        (struct kiln_cache_directory){.descriptor = descriptor, .path = copy, .is_layer = is_layer};
    return KILN_OK;
}

enum kiln_status kiln_cache_directory_open(const char *path,
                                           struct kiln_cache_directory *ret_directory,
                                           struct kiln_error *error)
{
    enum kiln_status status = kiln_directory_make(path, 0700, error);
    if (status == KILN_OK)
        status = open_path(path, false, ret_directory, error);
    if (status == KILN_NOT_FOUND)
        error->status = status = KILN_IO;
    return status;
}

enum kiln_status kiln_cache_directory_open_existing(const char *path,
                                                    struct kiln_cache_directory *ret_directory,
                                                    struct kiln_error *error)
{
    return open_path(path, false, ret_directory, error);
}

enum kiln_status kiln_cache_directory_open_layer(const char *path,
                                                 struct kiln_cache_directory *ret_directory,
                                                 struct kiln_error *error)
{
    return open_path(path, true, ret_directory, error);
}

void kiln_cache_directory_close(struct kiln_cache_directory *directory)
{
    if (directory->descriptor >= 0)
        (void)close(directory->descriptor);
    free(directory->path);
    *directory = (struct kiln_cache_directory){.descriptor = -1};
}

/* Out of the way, with all that is in it. */
static bool move_aside(int parent, const char *name)
{
    struct stat attributes;
    char aside[NAME_MAX + 1];
    if (fstatat(parent, name, &attributes, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    int length =
        snprintf(aside, sizeof aside, "%s.moved-%llx", name, (unsigned long long)attributes.st_ino);
    if (length < 0 || (size_t)length >= sizeof aside || renameat(parent, name, parent, aside) != 0)
        return false;
    kiln_log(KILN_LOG_WARN, "'%s' stood in the place of a part of the cache and is called '%s' now",
             name, aside);
    return true;
}

bool kiln_cache_directory_clear_place(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0)
        return true;
    if (errno != EISDIR)
        return false;
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || move_aside(parent, name);
}

enum kiln_status kiln_cache_directory_open_fanout(const struct kiln_cache_directory *directory,
                                                  const char *name, bool create,
                                                  int *ret_descriptor, struct kiln_error *error)
{
    if (directory->descriptor < 0)
        return kiln_error_set(error, KILN_NOT_FOUND, "there is no directory '%s'", directory->path);
    const char *reason = NULL;
    int descriptor =
        open_trusted(directory->descriptor, name, O_NOFOLLOW, directory->is_layer, &reason);
    if (descriptor < 0 && reason == NULL && errno == ENOENT && create) {
        if (mkdirat(directory->descriptor, name, 0700) != 0 && errno != EEXIST)
            return kiln_error_set(error, KILN_IO, "cannot create the directory '%s/%s': %m",
                                  directory->path, name);
        descriptor =
            open_trusted(directory->descriptor, name, O_NOFOLLOW, directory->is_layer, &reason);
    }
    if (descriptor >= 0) {
        *ret_descriptor = descriptor;
        return KILN_OK;
    }
    if (reason != NULL)
        return kiln_error_set(error, KILN_IO, "cannot use the directory '%s/%s': %s",
                              directory->path, name, reason);
    /* ESTALE: another machine of a network file system has removed it. */
    return kiln_error_set(error, kiln_status_of_errno(errno == ESTALE ? ENOENT : errno),
                          "cannot open the directory '%s/%s': %m", directory->path, name);
}
