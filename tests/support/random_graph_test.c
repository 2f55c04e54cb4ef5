#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SEEDS = 300 };

static void expect_round_trip(uint64_t seed, const struct kiln_random_graph_options *options)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph, copy;
    struct kiln_buffer bytes, before, after;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    kiln_buffer_init(&before);
    kiln_buffer_init(&after);
    cr_assert_eq(kiln_random_graph_make(seed, options, &arena, &graph, &error), KILN_OK);
    cr_assert_eq(kiln_graph_write(&graph, options->era, &bytes, &error), KILN_OK, "seed %lu: %s",
                 (unsigned long)seed, error.text);
    cr_assert_eq(kiln_graph_read(bytes.data, bytes.size, &arena, &copy, &error), KILN_OK,
                 "seed %lu: %s", (unsigned long)seed, error.text);
    kiln_graph_append_canonical(&graph, &before);
    kiln_graph_append_canonical(&copy, &after);
    cr_assert(before.size == after.size && memcmp(before.data, after.data, before.size) == 0,
              "seed %lu reads back as another graph", (unsigned long)seed);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&before);
    kiln_buffer_fini(&after);
    kiln_arena_fini(&arena);
}

/* The graphs obey the reader's rules and its canonical order: they come back as they were made. */
Test(random_graph, survives_the_current_layout)
{
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.dtypes &= ~(UINT32_C(1) << KILN_DTYPE_BOOL); /* has no number on the wire */
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        expect_round_trip(seed, &options);
}

Test(random_graph, survives_the_nov2025_layout)
{
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.era = KILN_WIRE_ERA_NOV2025;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        expect_round_trip(seed, &options);
}

Test(random_graph, meets_every_mode_type_rank_and_role)
{
    bool modes[KILN_POINTWISE_MODE_COUNT] = {false}, dtypes[KILN_DTYPE_COUNT] = {false};
    bool ranks[KILN_MAX_RANK + 1] = {false}, roles[KILN_TENSOR_HOST_SCALAR + 1] = {false};
    bool zero_stride = false, read_output = false;
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct kiln_arena arena;
        struct kiln_error error;
        struct kiln_graph graph;
        kiln_arena_init(&arena);
        kiln_error_init(&error);
        cr_assert_eq(kiln_random_graph_make(seed, &options, &arena, &graph, &error), KILN_OK);
        for (uint32_t i = 0; i < graph.tensor_count; i++) {
            const struct kiln_tensor *tensor = &graph.tensors[i];
            dtypes[tensor->dtype] = true;
            ranks[tensor->rank] = true;
            roles[tensor->role] = true;
            for (uint32_t axis = 0; axis < tensor->rank; axis++)
                zero_stride = zero_stride || (tensor->dims[axis] > 1 && tensor->strides[axis] == 0);
        }
        for (uint32_t i = 0; i < graph.node_count; i++) {
            modes[graph.nodes[i].pointwise.mode] = true;
            for (uint32_t j = 0; j < graph.nodes[i].input_count; j++)
                read_output = read_output ||
                              graph.tensors[graph.nodes[i].inputs[j]].role == KILN_TENSOR_OUTPUT;
        }
        kiln_arena_fini(&arena);
    }
    for (int i = 1; i < KILN_POINTWISE_MODE_COUNT; i++)
        cr_expect(modes[i], "mode %d", i);
    for (int i = 0; i < KILN_DTYPE_COUNT; i++)
        cr_expect(dtypes[i], "type %d", i);
    for (int i = 0; i <= KILN_MAX_RANK; i++)
        cr_expect(ranks[i], "rank %d", i);
    for (int i = 0; i <= KILN_TENSOR_HOST_SCALAR; i++)
        cr_expect(roles[i], "role %d", i);
    cr_expect(zero_stride);
    cr_expect(read_output);
}
