#include "cli/graph_input.h"

#include "cli/interrupt.h"
#include "compiler/graph/graph_json.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 65536, LOOK_UP_MILLISECONDS = 100 };

bool kiln_graph_bytes_are_json(const void *bytes, size_t size)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const char *text = bytes;
    size_t at = 0;
    if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0)
        at = 3;
    while (at < size &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) {
        at++;
    }
    /* A FlatBuffer starts with the offset of its root, small and so with zero bytes at its end: '{'
     * can be its first byte, never its first four. */
    size_t checked = size - at < 4 ? size - at : 4;
    return at < size && text[at] == '{' && memchr(text + at, 0, checked) == NULL;
}

/* Reads a pipe or a terminal to its end, of which nobody knows whether it comes: an interruption
 * that was noted ends it too. */
static enum kiln_status read_stream(int descriptor, const char *path, struct kiln_buffer *content,
                                    struct kiln_error *error)
{
    char piece[PIECE_BYTES];
    for (;;) {
        struct pollfd state = {.fd = descriptor, .events = POLLIN};
        if (poll(&state, 1, LOOK_UP_MILLISECONDS) <= 0) {
            if (kiln_interrupt_pending())
                return kiln_error_set(error, KILN_IO, "reading '%s' was interrupted", path);
            continue;
        }
        ssize_t count = read(descriptor, piece, sizeof piece);
        if (count == 0)
            return kiln_buffer_check(content, error);
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return kiln_error_set(error, KILN_IO, "cannot read '%s': %m", path);
        if (count > 0)
            kiln_buffer_append(content, piece, (size_t)count);
        if (content->size > KILN_GRAPH_FILE_LIMIT_BYTES)
            return kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' has more than %d bytes", path,
                                  (int)KILN_GRAPH_FILE_LIMIT_BYTES);
    }
}

static enum kiln_status read_descriptor(int descriptor, const char *path,
                                        struct kiln_buffer *content, struct kiln_error *error)
{
    struct stat attributes;
    if (fstat(descriptor, &attributes) == 0 &&
        (S_ISFIFO(attributes.st_mode) || S_ISSOCK(attributes.st_mode) || isatty(descriptor) != 0))
        return read_stream(descriptor, path, content, error);
    return kiln_file_read_descriptor(descriptor, path, KILN_GRAPH_FILE_LIMIT_BYTES, content, error);
}

static enum kiln_status read_bytes(const char *path, struct kiln_buffer *content,
                                   struct kiln_error *error)
{
    if (strcmp(path, "-") == 0)
        return read_descriptor(STDIN_FILENO, "standard input", content, error);
    struct stat attributes;
    if (stat(path, &attributes) != 0 || !S_ISFIFO(attributes.st_mode))
        return kiln_file_read(path, KILN_GRAPH_FILE_LIMIT_BYTES, content, error);
    /* Opening a pipe would wait for its writer. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return kiln_error_set(error, KILN_IO, "cannot open '%s': %m", path);
    enum kiln_status status = read_descriptor(descriptor, path, content, error);
    (void)close(descriptor);
    return status;
}

static enum kiln_status convert_json(struct kiln_buffer *content, struct kiln_error *error)
{
    struct kiln_buffer converted;
    kiln_buffer_init(&converted);
    enum kiln_wire_era era;
    enum kiln_status status =
        kiln_graph_json_to_bytes(content->data, content->size, NULL, &converted, &era, error);
    if (status != KILN_OK) {
        kiln_buffer_fini(&converted);
        return status;
    }
    kiln_buffer_fini(content);
    *content = converted;
    return KILN_OK;
}

enum kiln_status kiln_graph_input_read(const char *path, struct kiln_graph_input *ret_input,
                                       struct kiln_error *error)
{
    memset(ret_input, 0, sizeof(*ret_input));
    kiln_buffer_init(&ret_input->bytes);
    kiln_arena_init(&ret_input->arena);
    enum kiln_status status = read_bytes(path, &ret_input->bytes, error);
    if (status != KILN_OK)
        return status;
    if (kiln_graph_bytes_are_json(ret_input->bytes.data, ret_input->bytes.size))
        status = convert_json(&ret_input->bytes, error);
    if (status == KILN_OK) {
        status = kiln_graph_read(ret_input->bytes.data, ret_input->bytes.size, &ret_input->arena,
                                 &ret_input->graph, error);
    }
    if (status != KILN_OK)
        kiln_error_prefix(error, "graph '%s'", path);
    return status;
}

void kiln_graph_input_fini(struct kiln_graph_input *input)
{
    kiln_buffer_fini(&input->bytes);
    kiln_arena_fini(&input->arena);
}

bool kiln_graph_input_is_no_graph(const struct kiln_error *error)
{
    return error->status == KILN_BAD_ARGUMENT ||
           (error->status == KILN_REJECTED && error->reject_reason == KILN_REJECT_MALFORMED);
}
