/* libFuzzer target: any bytes as a graph, as an engine config, and as the JSON that flatc writes.
 */
#include "compiler/graph/graph_json.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_graph(const uint8_t *data, size_t size, struct kiln_error *error)
{
    struct kiln_arena arena;
    struct kiln_buffer text;
    struct kiln_graph graph;
    kiln_arena_init(&arena);
    kiln_buffer_init(&text);
    if (kiln_graph_read(data, size, &arena, &graph, error) == KILN_OK) {
        kiln_graph_append_canonical(&graph, &text);
        kiln_graph_print(&graph, &text);
        kiln_buffer_clear(&text);
        if (kiln_graph_write(&graph, graph.era, &text, error) == KILN_OK) {
            struct kiln_graph again;
            if (kiln_graph_read(text.data, text.size, &arena, &again, error) != KILN_OK)
                abort();
        }
    }
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

static void read_json(const uint8_t *data, size_t size, struct kiln_error *error)
{
    struct kiln_buffer bytes;
    enum kiln_wire_era era;
    kiln_buffer_init(&bytes);
    if (kiln_graph_json_to_bytes((const char *)data, size, NULL, &bytes, &era, error) == KILN_OK)
        read_graph((const uint8_t *)bytes.data, bytes.size, error);
    kiln_buffer_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_error error;
    struct kiln_engine_config config;
    kiln_error_init(&error);
    if (size != 0 && (data[0] == '{' || data[0] == '[')) {
        read_json(data, size, &error);
        return 0;
    }
    read_graph(data, size, &error);
    (void)!kiln_engine_config_read(data, size, &config, &error);
    return 0;
}
