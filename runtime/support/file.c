#include "runtime/support/file.h"

#include "runtime/support/file_target.h"
#include "runtime/support/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };

/* The error for the current errno. */
static enum kiln_status set_errno_error(struct kiln_error *error, const char *what,
                                        const char *path)
{
    return kiln_error_set(error, kiln_status_of_errno(errno), "cannot %s '%s': %m", what, path);
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

enum kiln_status kiln_file_write_at(int directory, const char *name, const void *bytes, size_t size,
                                    unsigned flags, struct kiln_error *error)
{
    struct kiln_temporary_file file;
    mode_t mode = (flags & KILN_FILE_PRIVATE) != 0 ? 0600 : 0666;
    enum kiln_status status = kiln_temporary_file_create(directory, name, mode, &file, error);
    if (status != KILN_OK)
        return status;
    status = kiln_temporary_file_append(&file, bytes, size, error);
    if (status == KILN_OK)
        return kiln_temporary_file_commit(&file, (flags & KILN_FILE_SYNC) != 0, error);
    kiln_temporary_file_discard(&file);
    return status;
}

enum kiln_status kiln_file_write(const char *path, const void *bytes, size_t size, unsigned flags,
                                 struct kiln_error *error)
{
    char *target;
    enum kiln_status status =
        kiln_file_target(path, (flags & KILN_FILE_FOLLOW) != 0, &target, error);
    if (status != KILN_OK)
        return status;
    int directory;
    const char *name;
    status = kiln_file_open_parent(target, &directory, &name, error);
    if (status == KILN_OK) {
        status = kiln_file_write_at(directory, name, bytes, size, flags, error);
        (void)close(directory);
    }
    free(target);
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
                bool is_wrong = errno == ENOTDIR; /* the path: the machine is not at fault */
                status = set_errno_error(error, "create the directory", prefix);
                if (is_wrong)
                    error->status = status = KILN_BAD_ARGUMENT;
            }
        }
        prefix[length] = path[length];
    }
    free(prefix);
    return status;
}

bool kiln_file_may_have(uint64_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur)
        return true;
    errno = EFBIG;
    return false;
}

enum kiln_status kiln_file_check_shortage(const char *action, struct kiln_error *error)
{
    int descriptor = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0)
        (void)close(descriptor);
    enum kiln_status status = descriptor < 0 ? kiln_status_of_errno(errno) : KILN_OK;
    if (!kiln_status_may_pass(status))
        return KILN_OK;
    return kiln_error_set(error, status, "cannot %s: %m", action);
}
