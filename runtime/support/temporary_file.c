#include "runtime/support/temporary_file.h"

#include "runtime/support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name in use means a collision of 64 random bits; more than a few mean something else. */
enum { TEMPORARY_ATTEMPTS = 8 };

/* The error for the current errno. */
static enum kiln_status set_errno_error(struct kiln_error *error, const char *what,
                                        const char *path)
{
    enum kiln_status status = KILN_IO;
    if (errno == ENOENT)
        status = KILN_NOT_FOUND;
    else if (errno == ENOMEM)
        status = KILN_NO_MEMORY;
    return kiln_error_set(error, status, "cannot %s '%s': %m", what, path);
}

enum kiln_status kiln_file_open_parent(const char *path, int *ret_directory, const char **ret_name,
                                       struct kiln_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (*name == '\0')
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "cannot write '%s': it names no file",
                              path);

    char *parent = NULL;
    if (slash != NULL) {
        parent = strndup(path, slash != path ? (size_t)(slash - path) : 1);
        if (parent == NULL)
            return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while writing '%s'", path);
    }
    enum kiln_status status = KILN_OK;
    int directory = open(parent != NULL ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        status = set_errno_error(error, "open the directory", parent != NULL ? parent : ".");
    } else {
        *ret_directory = directory;
        *ret_name = name;
    }
    free(parent);
    return status;
}

enum kiln_status kiln_temporary_file_create(int directory, const char *name, mode_t mode,
                                            struct kiln_temporary_file *ret_file,
                                            struct kiln_error *error)
{
    struct kiln_temporary_file file = {directory, name, .descriptor = -1};
    for (unsigned attempt = 0; attempt < TEMPORARY_ATTEMPTS && file.descriptor < 0; attempt++) {
        kiln_temporary_name_make(file.temporary, attempt);
        file.descriptor = openat(directory, file.temporary,
                                 O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (file.descriptor < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (file.descriptor < 0)
        return set_errno_error(error, "create a temporary file for", name);
    *ret_file = file;
    return KILN_OK;
}

enum kiln_status kiln_temporary_file_append(struct kiln_temporary_file *file, const void *bytes,
                                            size_t size, struct kiln_error *error)
{
    if (!kiln_file_may_have(file->size + size))
        return set_errno_error(error, "write", file->name);
    const char *rest = bytes;
    const char *end = rest + size;
    while (rest != end) {
        ssize_t count = write(file->descriptor, rest, (size_t)(end - rest));
        if (count < 0 && errno != EINTR)
            return set_errno_error(error, "write", file->name);
        if (count > 0)
            rest += count;
    }
    file->size += size;
    return KILN_OK;
}

enum kiln_status kiln_temporary_file_overwrite(struct kiln_temporary_file *file, uint64_t offset,
                                               const void *bytes, size_t size,
                                               struct kiln_error *error)
{
    const char *rest = bytes;
    const char *end = rest + size;
    while (rest != end) {
        ssize_t count = pwrite(file->descriptor, rest, (size_t)(end - rest), (off_t)offset);
        if (count < 0 && errno != EINTR)
            return set_errno_error(error, "write", file->name);
        if (count > 0) {
            rest += count;
            offset += (uint64_t)count;
        }
    }
    return KILN_OK;
}

enum kiln_status kiln_temporary_file_commit(struct kiln_temporary_file *file, bool sync,
                                            struct kiln_error *error)
{
    bool written = !sync || fsync(file->descriptor) == 0;
    int write_errno = errno;
    /* Network file systems report a full disk at close. */
    if (close(file->descriptor) != 0 && written && errno != EINTR) {
        written = false;
        write_errno = errno;
    }
    enum kiln_status status;
    if (!written) {
        errno = write_errno;
        status = set_errno_error(error, "write", file->name);
    } else if (renameat(file->directory, file->temporary, file->directory, file->name) != 0) {
        status = set_errno_error(error, "replace", file->name);
    } else if (sync && fsync(file->directory) != 0) {
        return set_errno_error(error, "write the directory entry of", file->name);
    } else {
        return KILN_OK;
    }
    (void)unlinkat(file->directory, file->temporary, 0);
    return status;
}

void kiln_temporary_file_discard(struct kiln_temporary_file *file)
{
    (void)close(file->descriptor);
    (void)unlinkat(file->directory, file->temporary, 0);
}
