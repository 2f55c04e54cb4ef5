#include "tests/support/damaged_graphs.h"

#include "compiler/graph/graph_json.h"
#include "runtime/support/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const samples[] = {
    "current/bias_gelu_fp16",
    "current/causal_mask_fp32",
    "current/chain_of_24_fp32",
    "current/diamond_two_outputs_fp32",
    "current/exact_int64_arithmetic",
    "current/padded_rows_rank6_fp32",
    "current/quantize_to_fp8_e4m3",
    "current/runtime_scalar_axpy_fp32",
    "nov2025/bias_relu6_nchw_fp32",
    "nov2025/leaky_relu_to_int32",
    "current/softmax_fp32",
    "current/layernorm_training_fp16",
    "current/layernorm_backward_bf16",
    "current/residual_rmsnorm_swish_bf16",
    "current/batchnorm_training_nhwc_fp32",
    "current/global_average_pool_nhwc_fp16",
    "nov2025/batchnorm_relu_nchw_fp16",
    "current/transposed_conv_bias_bf16",
};
enum { SAMPLE_COUNT = sizeof(samples) / sizeof(*samples), FILE_LIMIT_BYTES = 1 << 20 };

struct run {
    damaged_graph_visitor *visit;
    void *context;
    uint64_t random_state;
};

/* xorshift64* */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

static bool read_sample(const char *name, struct kiln_buffer *bytes)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s.json", KILN_SAMPLES, name);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_wire_era era;
    bool is_read =
        kiln_file_read(path, FILE_LIMIT_BYTES, &text, &error) == KILN_OK &&
        kiln_graph_json_to_bytes(text.data, text.size, NULL, bytes, &era, &error) == KILN_OK;
    if (!is_read)
        fprintf(stderr, "%s: %s\n", path, error.text);
    kiln_buffer_fini(&text);
    return is_read;
}

/* A copy of the first `size` bytes goes to the visitor. */
static bool visit(const struct run *run, const char *bytes, size_t size, size_t flipped_at,
                  unsigned flip, struct damaged_graph *graph)
{
    unsigned char *copy = malloc(size);
    if (size != 0 && copy == NULL) {
        fprintf(stderr, "out of memory\n");
        return false;
    }
    if (size != 0)
        memcpy(copy, bytes, size);
    if (flip != 0)
        copy[flipped_at] = (unsigned char)(copy[flipped_at] ^ flip);
    graph->bytes = copy;
    graph->size = size;
    bool goes_on = run->visit(run->context, graph);
    free(copy);
    return goes_on;
}

static bool damage(struct run *run, const char *name, const struct kiln_buffer *bytes,
                   unsigned long flips)
{
    struct damaged_graph graph = {.is_whole = true};
    snprintf(graph.label, sizeof(graph.label), "%s", name);
    bool goes_on = visit(run, bytes->data, bytes->size, 0, 0, &graph);
    graph.is_whole = false;
    for (size_t cut = 0; cut < bytes->size && goes_on; cut++) {
        snprintf(graph.label, sizeof(graph.label), "%s cut to %zu bytes", name, cut);
        goes_on = visit(run, bytes->data, cut, 0, 0, &graph);
    }
    for (unsigned long i = 0; i < flips && goes_on; i++) {
        size_t at = next_random(&run->random_state) % bytes->size;
        unsigned flip = 1 + (unsigned)(next_random(&run->random_state) % 255);
        snprintf(graph.label, sizeof(graph.label), "%s with byte %zu ^ %u", name, at, flip);
        goes_on = visit(run, bytes->data, bytes->size, at, flip, &graph);
    }
    return goes_on;
}

bool damaged_graphs_visit(unsigned long flips, uint64_t seed, damaged_graph_visitor *visit_graph,
                          void *context)
{
    struct run run = {visit_graph, context, seed != 0 ? seed : 1};
    bool goes_on = true;
    for (int i = 0; i < SAMPLE_COUNT && goes_on; i++) {
        struct kiln_buffer bytes;
        kiln_buffer_init(&bytes);
        goes_on = read_sample(samples[i], &bytes) &&
                  damage(&run, samples[i], &bytes, flips / SAMPLE_COUNT);
        kiln_buffer_fini(&bytes);
    }
    return goes_on;
}
