#include "runtime/support/file.h"

#include "runtime/support/temporary_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_BYTES = 65536,
    /* A name in use means a collision of 64 random bits; more than a few mean something else. */
    TEMPORARY_ATTEMPTS = 8,
};

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

static ssize_t read_some(int descriptor, char *bytes, size_t size)
{
    ssize_t count;
    do {
        count = read(descriptor, bytes, size);
    } while (count < 0 && errno == EINTR);
    return count;
}

enum kiln_status kiln_file_read_descriptor(int descriptor, const char *path, size_t limit_bytes,
                                           struct kiln_buffer *ret_content,
                                           struct kiln_error *error)
{
    struct stat attributes;
    if (fstat(descriptor, &attributes) != 0)
        return set_errno_error(error, "inspect", path);
    if (S_ISDIR(attributes.st_mode))
        return kiln_error_set(error, KILN_IO, "cannot read '%s': it is a directory", path);

    bool sized = S_ISREG(attributes.st_mode) && attributes.st_size > 0;
    if (sized && (uintmax_t)attributes.st_size > limit_bytes)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' has more than %zu bytes", path,
                              limit_bytes);
    /* The size is a hint only: a pipe has none and a file may grow while it is read. The extra byte
     * lets the read that fills the buffer of an unchanged file also see its end. */
    size_t capacity = READ_BYTES;
    if (sized && (uintmax_t)attributes.st_size < SIZE_MAX / 4)
        capacity = (size_t)attributes.st_size + 1;
    if (capacity > limit_bytes)
        capacity = limit_bytes < SIZE_MAX / 4 ? limit_bytes + 1 : SIZE_MAX / 4;

    char *data = NULL;
    size_t size = 0;
    enum kiln_status status;
    for (;;) {
        /* Room for `capacity` bytes and the NUL that a buffer has. */
        char *larger = realloc(data, capacity + 1);
        if (larger == NULL) {
            status = kiln_error_set(error, KILN_NO_MEMORY,
                                    "out of memory while reading '%s' (%zu bytes)", path, capacity);
            goto failed;
        }
        data = larger;
        ssize_t count = 1;
        while (size < capacity && count > 0) {
            count = read_some(descriptor, data + size, capacity - size);
            if (count < 0) {
                status = set_errno_error(error, "read", path);
                goto failed;
            }
            size += (size_t)count;
        }
        if (size > limit_bytes) {
            status = kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' has more than %zu bytes", path,
                                    limit_bytes);
            goto failed;
        }
        if (count == 0)
            break;
        capacity *= 2;
        if (capacity > limit_bytes)
            capacity = limit_bytes + 1;
    }
    data[size] = '\0';
    free(ret_content->data);
    *ret_content = (struct kiln_buffer){.data = data, .size = size, .capacity = capacity + 1};
    return KILN_OK;

failed:
    free(data);
    return status;
}

enum kiln_status kiln_file_read(const char *path, size_t limit_bytes,
                                struct kiln_buffer *ret_content, struct kiln_error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return set_errno_error(error, "open", path);
    enum kiln_status status =
        kiln_file_read_descriptor(descriptor, path, limit_bytes, ret_content, error);
    (void)close(descriptor);
    return status;
}

static int create_temporary(int directory, mode_t mode, char ret_name[KILN_TEMPORARY_NAME_BYTES])
{
    int descriptor = -1;
    for (unsigned attempt = 0; attempt < TEMPORARY_ATTEMPTS && descriptor < 0; attempt++) {
        kiln_temporary_name_make(ret_name, attempt);
        descriptor =
            openat(directory, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (descriptor < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    return descriptor;
}

static bool write_all(int descriptor, const char *bytes, size_t size)
{
    /* Writing past the limit raises SIGXFSZ, which would end the process that we are a guest in. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    while (size != 0) {
        ssize_t count = write(descriptor, bytes, size);
        if (count < 0 && errno != EINTR)
            return false;
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
        }
    }
    return true;
}

enum kiln_status kiln_file_write_at(int directory, const char *name, const void *bytes, size_t size,
                                    unsigned flags, struct kiln_error *error)
{
    char temporary[KILN_TEMPORARY_NAME_BYTES];
    mode_t mode = (flags & KILN_FILE_PRIVATE) != 0 ? 0600 : 0666;
    int descriptor = create_temporary(directory, mode, temporary);
    if (descriptor < 0)
        return set_errno_error(error, "create a temporary file for", name);

    bool written = write_all(descriptor, bytes, size);
    if (written && (flags & KILN_FILE_SYNC) != 0)
        written = fsync(descriptor) == 0;
    int write_errno = errno;
    /* Network file systems report a full disk at close. */
    if (close(descriptor) != 0 && written && errno != EINTR) {
        written = false;
        write_errno = errno;
    }
    enum kiln_status status;
    if (!written) {
        errno = write_errno;
        status = set_errno_error(error, "write", name);
    } else if (renameat(directory, temporary, directory, name) != 0) {
        status = set_errno_error(error, "replace", name);
    } else if ((flags & KILN_FILE_SYNC) != 0 && fsync(directory) != 0) {
        return set_errno_error(error, "write the directory entry of", name);
    } else {
        return KILN_OK;
    }
    (void)unlinkat(directory, temporary, 0);
    return status;
}

enum kiln_status kiln_file_write(const char *path, const void *bytes, size_t size, unsigned flags,
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
    int directory = open(parent != NULL ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum kiln_status status;
    if (directory < 0) {
        status = set_errno_error(error, "open the directory", parent != NULL ? parent : ".");
    } else {
        status = kiln_file_write_at(directory, name, bytes, size, flags, error);
        (void)close(directory);
    }
    free(parent);
    return status;
}

static bool is_directory(const char *path)
{
    struct stat attributes;
    return stat(path, &attributes) == 0 && S_ISDIR(attributes.st_mode);
}

enum kiln_status kiln_directory_make(const char *path, mode_t mode, struct kiln_error *error)
{
    if (*path == '\0')
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "cannot create a directory with no name");
    if (is_directory(path))
        return KILN_OK;
    char *prefix = strdup(path);
    if (prefix == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while creating '%s'", path);

    enum kiln_status status = KILN_OK;
    size_t length = 0;
    while (path[length] != '\0' && status == KILN_OK) {
        length += strspn(path + length, "/");
        length += strcspn(path + length, "/");
        prefix[length] = '\0';
        /* EEXIST may be a file; other errors may be of a directory that exists in a read-only
         * place. */
        if (mkdir(prefix, mode) != 0) {
            int mkdir_errno = errno;
            if (!is_directory(prefix)) {
                errno = mkdir_errno == EEXIST ? ENOTDIR : mkdir_errno;
                status = set_errno_error(error, "create the directory", prefix);
            }
        }
        prefix[length] = path[length];
    }
    free(prefix);
    return status;
}
