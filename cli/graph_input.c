#include "cli/graph_input.h"

#include "cli/input_file.h"
#include "compiler/graph/graph_json.h"
#include "compiler/graph/graph_reader.h"

#include <string.h>

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
    enum kiln_status status =
        kiln_input_file_read(path, KILN_GRAPH_FILE_LIMIT_BYTES, &ret_input->bytes, error);
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

bool kiln_graph_input_is_output(const char *path, bool is_found, const char *output)
{
    struct kiln_graph_input input;
    struct kiln_error error;
    if (!kiln_input_file_is_output(path, output))
        return false;
    if (!is_found)
        return true;
    kiln_error_init(&error);
    enum kiln_status status = kiln_graph_input_read(path, &input, &error);
    kiln_graph_input_fini(&input);
    return status == KILN_OK || !kiln_graph_input_is_no_graph(&error);
}
