/*
 * Entries that this build can never use, by their keys alone.
 */
#include "runtime/engine/stale_entry.h"

#include "compiler/graph/graph_reader.h"
#include "compiler/program.h"
#include "runtime/engine/kernel_key.h"
#include "runtime/engine/program_key.h"
#include "tests/runtime/engine/sample_graph.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_error error;
static struct kiln_graph graph;
static struct kiln_program program;
static struct kiln_target target;
static const struct kiln_lower_options options;

static void set_up(void)
{
    struct kiln_buffer bytes;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    sample_graph_write_add(&bytes);
    cr_assert_eq(kiln_graph_read(bytes.data, bytes.size, &arena, &graph, &error), KILN_OK);
    cr_assert_eq(kiln_target_parse("gfx90a", &target, &error), KILN_OK);
    cr_assert_eq(kiln_lower(&graph, &target, &options, &arena, &program, NULL, &error), KILN_OK,
                 "%s", error.text);
    kiln_buffer_fini(&bytes);
}

static void tear_down(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(stale_entry, .init = set_up, .fini = tear_down, .timeout = 60);

static const char *judge(const void *key, size_t size)
{
    const struct kiln_entry_view view = {.key = key, .key_bytes = size};
    const char *reason = "untouched";
    cr_assert_eq(kiln_entry_judge_stale(&view, &reason, &error), KILN_OK, "%s", error.text);
    return reason;
}

/* The judgement on the kernel with `from` in its source replaced by `to`, of as many bytes. */
static const char *judge_kernel(const char *from, const char *to)
{
    struct kiln_kernel kernel = program.kernels[0];
    struct kiln_cache_key key;
    char *source = kiln_arena_strndup(&arena, kernel.source, strlen(kernel.source));
    char *place = from ? strstr(source, from) : NULL;
    cr_assert(place || !from, "'%s' is not in the source", from);
    if (place)
        memcpy(place, to, strlen(to));
    kernel.source = source;
    cr_assert_eq(kiln_kernel_key_make(&kernel, &target, &key, &error), KILN_OK);
    const char *reason = judge(key.bytes.data, key.bytes.size);
    kiln_cache_key_fini(&key);
    return reason;
}

Test(stale_entry, kernels_are_of_this_builds_templates)
{
    cr_assert_null(judge_kernel(NULL, NULL));
    cr_assert_str_eq(judge_kernel("void", "VOID"), "other templates");
    cr_assert_str_eq(judge_kernel("#line 1 \"device", "#line 1 \"devic_"), "other templates");
    cr_assert_str_eq(judge_kernel("#line 1 \"device", "#line 2 \"device"), "other templates");
    /* Some graph may have that generated text. */
    cr_assert_null(judge_kernel("kiln_", "Kiln_"));
}

Test(stale_entry, programs_are_of_this_builds_digest)
{
    struct kiln_cache_key key;
    kiln_cache_key_init(&key);
    cr_assert_eq(kiln_program_key_append(&graph, &target, &options, &key, &error), KILN_OK);
    cr_assert_null(judge(key.bytes.data, key.bytes.size));
    char *digest = memmem(key.bytes.data, key.bytes.size, kiln_templates_digest(),
                          strlen(kiln_templates_digest()));
    cr_assert(digest);
    digest[0] = digest[0] == '0' ? '1' : '0';
    cr_assert_str_eq(judge(key.bytes.data, key.bytes.size), "other templates or generators");
    cr_assert(judge(key.bytes.data, key.bytes.size - 1));
    cr_assert(judge("", 0));
    kiln_cache_key_fini(&key);
}

/* Keys are from files that anybody may have written. */
Test(stale_entry, damaged_keys)
{
    struct kiln_cache_key key;
    cr_assert_eq(kiln_kernel_key_make(&program.kernels[0], &target, &key, &error), KILN_OK);
    for (size_t i = 0; i < key.bytes.size; i += 3) {
        key.bytes.data[i] ^= 0x21;
        (void)judge(key.bytes.data, key.bytes.size);
        (void)judge(key.bytes.data, i);
        key.bytes.data[i] ^= 0x21;
    }
    kiln_cache_key_fini(&key);
}
