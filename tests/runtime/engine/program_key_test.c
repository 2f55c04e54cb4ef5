/* Keys of programs taken apart: what the engine puts in comes out, and damage is refused. */
#include "runtime/engine/program_key.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/engine/program_cache.h"
#include "runtime/engine/program_format.h"
#include "sample_graph.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct kiln_error error;
static struct kiln_arena arena;
static struct kiln_graph graph;
static struct kiln_cache_key key;
static struct kiln_target target;

static void set_up(void)
{
    struct kiln_buffer bytes;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    kiln_cache_key_init(&key);
    sample_graph_write_add(&bytes);
    cr_assert_eq(kiln_graph_read(bytes.data, bytes.size, &arena, &graph, &error), KILN_OK);
    cr_assert_eq(kiln_target_parse("gfx90a", &target, &error), KILN_OK);
    const struct kiln_lower_options options = {
        .no_fusion = true,
        .max_vector_elements = 4,
        .host_wave_size = 64,
        .max_groups = 12,
        .skipped_forms = 3,
        .max_part_weight = 13,
        .workspace_limit = UINT64_C(1) << 40,
        .contraction = {KILN_CONTRACTION_STREAMED, 1, 2, 3, 4, 5, 6, 7},
        .shapes = KILN_SHAPES_ARGUMENT};
    cr_assert_eq(kiln_program_key_append(&graph, &target, &options, &key, &error), KILN_OK);
    kiln_buffer_fini(&bytes);
}

static void tear_down(void)
{
    kiln_cache_key_fini(&key);
    kiln_arena_fini(&arena);
}

TestSuite(program_key, .init = set_up, .fini = tear_down, .timeout = 60);

Test(program_key, has_what_the_engine_put_in)
{
    struct kiln_program_key found;
    cr_assert_eq(kiln_program_key_read(key.bytes.data, key.bytes.size, &arena, &found, &error),
                 KILN_OK, "%s", error.text);
    cr_assert_eq(found.format_version, KILN_PROGRAM_FORMAT_VERSION);
    cr_assert_str_eq(found.target, "gfx90a");
    cr_assert_str_eq(found.templates_digest, kiln_templates_digest());
    struct kiln_buffer options;
    kiln_buffer_init(&options);
    kiln_codegen_append_options(&target, &options);
    cr_assert_str_eq(found.compile_options, kiln_buffer_text(&options));
    kiln_buffer_fini(&options);
    cr_assert(found.options.no_fusion);
    cr_assert_eq(found.options.max_vector_elements, 4);
    cr_assert_eq(found.options.host_wave_size, 64);
    cr_assert_eq(found.options.max_groups, 12);
    cr_assert_eq(found.options.skipped_forms, 3);
    cr_assert_eq(found.options.max_part_weight, 13);
    cr_assert_eq(found.options.workspace_limit, UINT64_C(1) << 40);
    cr_assert_eq(found.options.contraction.form, KILN_CONTRACTION_STREAMED);
    cr_assert_eq(found.options.contraction.tile_m, 1);
    cr_assert_eq(found.options.contraction.tile_n, 2);
    cr_assert_eq(found.options.contraction.tile_k, 3);
    cr_assert_eq(found.options.contraction.waves_m, 4);
    cr_assert_eq(found.options.contraction.waves_n, 5);
    cr_assert_eq(found.options.contraction.waves_k, 6);
    cr_assert_eq(found.options.contraction.segments, 7);
    cr_assert_eq(found.options.shapes, KILN_SHAPES_ARGUMENT);
    cr_assert_eq(found.graph.node_count, 1);
    cr_assert_str_eq(kiln_node_operation(&found.graph.nodes[0]), "ADD");
    cr_assert_eq(found.graph.tensor_count, graph.tensor_count);
}

static enum kiln_status read_exactly(const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size != 0 ? size : 1);
    struct kiln_program_key found;
    struct kiln_arena own;
    memcpy(copy, bytes, size);
    kiln_arena_init(&own);
    kiln_error_init(&error);
    enum kiln_status status = kiln_program_key_read(copy, size, &own, &found, &error);
    free(copy);
    kiln_arena_fini(&own);
    return status;
}

Test(program_key, damage_never_crashes_and_truncations_are_refused)
{
    unsigned faults = 0;
    for (size_t size = 0; size < key.bytes.size; size++)
        faults += read_exactly(key.bytes.data, size) != KILN_CORRUPT;
    for (size_t bit = 0; bit < 8 * key.bytes.size; bit++) {
        key.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        enum kiln_status status = read_exactly(key.bytes.data, key.bytes.size);
        faults += status != KILN_OK && status != KILN_CORRUPT && status != KILN_UNSUPPORTED;
        faults += status != KILN_OK && strlen(error.text) < 10;
        key.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    cr_assert_eq(faults, 0, "%u", faults);
    kiln_cache_key_add_text(&key, "one field more");
    cr_assert_eq(read_exactly(key.bytes.data, key.bytes.size), KILN_CORRUPT);
}

Test(program_key, another_version_is_told)
{
    key.bytes.data[8] = 99;
    cr_assert_eq(read_exactly(key.bytes.data, key.bytes.size), KILN_UNSUPPORTED);
    cr_assert(strstr(error.text, "version 99,"), "%s", error.text);
}

/* A general program of one graph, declared with these sizes, has a key of its own. */
Test(program_key, declared_shapes_are_in_the_keys_of_general_programs)
{
    struct kiln_cache_key keys[2];
    const struct kiln_lower_options options = {.shapes = KILN_SHAPES_ARGUMENT, .is_general = true};
    struct kiln_tensor declared = graph.tensors[0];
    for (int i = 0; i < 2; i++) {
        declared.dims[0] = 2000 + i;
        graph.tensors[0].declared = &declared;
        kiln_cache_key_init(&keys[i]);
        cr_assert_eq(kiln_program_key_append(&graph, &target, &options, &keys[i], &error), KILN_OK);
        cr_expect_eq(read_exactly(keys[i].bytes.data, keys[i].bytes.size), KILN_OK, "%s",
                     error.text);
    }
    cr_expect_eq(keys[0].bytes.size, keys[1].bytes.size);
    cr_expect_neq(memcmp(keys[0].bytes.data, keys[1].bytes.data, keys[0].bytes.size), 0);
    kiln_cache_key_fini(&keys[0]);
    kiln_cache_key_fini(&keys[1]);
    graph.tensors[0].declared = NULL;
}
