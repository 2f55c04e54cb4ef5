#include "cli/input_file.h"

#include "cli/interrupt.h"
#include "runtime/support/file.h"
#include "runtime/support/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 65536, LOOK_UP_MILLISECONDS = 100 };

/* A pipe or a terminal that is being read. */
struct stream {
    int descriptor;
    const char *path;
    bool is_bounded; /* its descriptor does not block, and it is not waited for without end */
    bool had_writer; /* has shown that somebody has it open for writing */
    uint64_t since;  /* the last sign of life, kiln_monotonic_milliseconds() */
    size_t limit_bytes;
};

static enum kiln_status check_patience(const struct stream *stream, struct kiln_error *error)
{
    uint64_t limit =
        stream->had_writer ? KILN_INPUT_SILENCE_MILLISECONDS : KILN_INPUT_NO_WRITER_MILLISECONDS;
    if (!stream->is_bounded || kiln_monotonic_milliseconds() - stream->since < limit)
        return KILN_OK;
    if (!stream->had_writer)
        return kiln_error_set(error, KILN_IO, "nobody writes to the pipe '%s'", stream->path);
    return kiln_error_set(error, KILN_IO, "nothing has come from the pipe '%s' for %u seconds",
                          stream->path, (unsigned)(limit / 1000));
}

/* Reads to the end, of which nobody knows whether it comes: an interruption that was noted ends it
 * too. */
static enum kiln_status read_stream(struct stream *stream, struct kiln_buffer *content,
                                    struct kiln_error *error)
{
    char piece[PIECE_BYTES];
    for (;;) {
        struct pollfd state = {.fd = stream->descriptor, .events = POLLIN};
        int ready = poll(&state, 1, LOOK_UP_MILLISECONDS);
        if (ready <= 0 && kiln_interrupt_pending())
            return kiln_error_set(error, KILN_IO, "reading '%s' was interrupted", stream->path);
        if (ready <= 0 && !stream->is_bounded)
            continue;
        /* Also when nothing is ready: that tells a pipe without a writer from a silent one. */
        ssize_t count = read(stream->descriptor, piece, sizeof piece);
        if (count == 0 && ready > 0)
            return kiln_buffer_check(content, error);
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return kiln_error_set(error, KILN_IO, "cannot read '%s': %m", stream->path);
        if (count > 0 || (count < 0 && errno == EAGAIN && !stream->had_writer)) {
            stream->had_writer = true;
            stream->since = kiln_monotonic_milliseconds();
        }
        if (count > 0)
            kiln_buffer_append(content, piece, (size_t)count);
        if (content->size > stream->limit_bytes)
            return kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' has more than %zu bytes",
                                  stream->path, stream->limit_bytes);
        enum kiln_status status = check_patience(stream, error);
        if (status != KILN_OK)
            return status;
    }
}

/* Gives the status of a mistake on the command line: the machine is not at fault. */
static enum kiln_status refuse(const char *path, const char *what, struct kiln_error *error)
{
    return kiln_error_set(error, KILN_BAD_ARGUMENT, "cannot read '%s': it is %s", path, what);
}

static enum kiln_status read_descriptor(int descriptor, const char *path, bool is_named,
                                        size_t limit_bytes, struct kiln_buffer *content,
                                        struct kiln_error *error)
{
    struct stat attributes;
    if (fstat(descriptor, &attributes) != 0)
        return kiln_error_set(error, KILN_IO, "cannot inspect '%s': %m", path);
    bool is_pipe = S_ISFIFO(attributes.st_mode) || S_ISSOCK(attributes.st_mode);
    bool is_terminal = isatty(descriptor) != 0;
    if (is_pipe || is_terminal) {
        struct stream stream = {
            .descriptor = descriptor,
            .path = path,
            .is_bounded = is_named && is_pipe,
            .since = kiln_monotonic_milliseconds(),
            .limit_bytes = limit_bytes,
        };
        return read_stream(&stream, content, error);
    }
    if (is_named && (S_ISCHR(attributes.st_mode) || S_ISBLK(attributes.st_mode)))
        return refuse(path, "a device", error);
    if (S_ISDIR(attributes.st_mode))
        return refuse(path, "a directory", error);
    return kiln_file_read_descriptor(descriptor, path, limit_bytes, content, error);
}

enum kiln_status kiln_input_file_read(const char *path, size_t limit_bytes,
                                      struct kiln_buffer *ret_content, struct kiln_error *error)
{
    if (strcmp(path, "-") == 0)
        return read_descriptor(STDIN_FILENO, "standard input", false, limit_bytes, ret_content,
                               error);
    struct stat attributes;
    bool is_there = stat(path, &attributes) == 0;
    if (!is_there && (errno == ENOTDIR || errno == ENAMETOOLONG)) /* nothing can have that name */
        return kiln_error_set(error, KILN_NOT_FOUND, "cannot open '%s': %m", path);
    if (!is_there)
        return kiln_file_read(path, limit_bytes, ret_content, error);
    if (S_ISSOCK(attributes.st_mode))
        return refuse(path, "a socket", error);
    /* Opening a pipe would wait for its writer, and opening a device for whatever it likes. Some
     * files of /proc look ordinary and wait like a pipe. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return kiln_error_set(error, kiln_status_of_errno(errno), "cannot open '%s': %m", path);
    enum kiln_status status =
        read_descriptor(descriptor, path, true, limit_bytes, ret_content, error);
    (void)close(descriptor);
    return status;
}

bool kiln_input_file_is_output(const char *path, const char *output)
{
    struct stat in;
    struct stat out;
    if (stat(output, &out) != 0 || !S_ISREG(out.st_mode))
        return false;
    int failure = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(path, &in);
    return failure == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}
