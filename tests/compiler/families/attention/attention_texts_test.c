/*
 * Sizes of attention are arguments: how many kernels a decoding user compiles, whose keys grow with
 * every token and whose batches change. Texts are told apart by their symbols, which are made of
 * them.
 */
#include "tests/compiler/sketched_plans.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXTS = 64, SYMBOL_BYTES = 64, SKETCH_BYTES = 1024, SHAPES = 150 };

struct texts {
    char symbols[MAX_TEXTS][SYMBOL_BYTES];
    unsigned count;
    unsigned merges; /* of them: of the family of reductions */
};

static void count_text(struct texts *texts, const char *symbol)
{
    unsigned i = 0;
    while (i < texts->count && strcmp(texts->symbols[i], symbol) != 0)
        i++;
    if (i < texts->count)
        return;
    cr_assert_lt(texts->count, MAX_TEXTS);
    (void)snprintf(texts->symbols[texts->count++], SYMBOL_BYTES, "%s", symbol);
    texts->merges += strncmp(symbol, "kiln_reduction", strlen("kiln_reduction")) == 0;
}

/* A graph of these sizes: batch, heads, heads of keys, keys; of one query. */
typedef void (*sketch_writer)(char *sketch, long batch, long heads, long kv_heads, long keys);

#define NODE_FORMAT                                                                                \
    "Sdpa q=%ld,%ld,1,128:HALF k=%ld,%ld,%ld,128:HALF v=%ld,%ld,%ld,128:HALF o=%ld,%ld,1,128:HALF"
#define NODE_SIZES batch, heads, batch, kv_heads, keys, batch, kv_heads, keys, batch, heads

static void plain(char *sketch, long batch, long heads, long kv_heads, long keys)
{
    (void)snprintf(sketch, SKETCH_BYTES, NODE_FORMAT, NODE_SIZES);
}

static void with_statistics(char *sketch, long batch, long heads, long kv_heads, long keys)
{
    (void)snprintf(sketch, SKETCH_BYTES, NODE_FORMAT " stats=%ld,%ld,1,1 !generate_stats=true",
                   NODE_SIZES, batch, heads);
}

/* A gate and a residual behind it. */
static void with_epilogue(char *sketch, long batch, long heads, long kv_heads, long keys)
{
    (void)snprintf(sketch, SKETCH_BYTES,
                   NODE_FORMAT ":virtual | Pointwise in_0@4 in_1=%ld,%ld,1,128:HALF "
                               "out_0=%ld,%ld,1,128:virtual !operation='MUL' | "
                               "Pointwise in_0@6 in_1=1,%ld,1,1 out_0=%ld,%ld,1,128:HALF "
                               "!operation='ADD'",
                   NODE_SIZES, batch, heads, batch, heads, heads, batch, heads);
}

static void lower(struct texts *texts, const char *target_name, const char *sketch)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    const struct kiln_program program = sketch_lower(&arena, sketch, target_name, NULL);
    for (uint32_t i = 0; i < program.kernel_count; i++)
        count_text(texts, program.kernels[i].symbol);
    kiln_arena_fini(&arena);
}

/* Two heads of a query to each of keys, at least. */
static void lower_many(struct texts *texts, const char *target_name, sketch_writer write)
{
    char sketch[SKETCH_BYTES];
    struct kiln_random random = {1};
    for (int i = 0; i < SHAPES; i++) {
        long batch = 2 + (long)kiln_random_below(&random, 63);
        long kv_heads = 2 + (long)kiln_random_below(&random, 15);
        long heads = kv_heads * (2 + (long)kiln_random_below(&random, 7));
        long keys = 2 + (long)kiln_random_below(&random, i % 3 == 0 ? 300 : 8191);
        write(sketch, i % 4 == 0 ? 1 : batch, heads, kv_heads, keys);
        lower(texts, target_name, sketch);
    }
}

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_90"};
enum { TARGETS = sizeof targets / sizeof *targets };

static void check(const char *target_name, sketch_writer write, unsigned most_merges)
{
    struct texts texts = {.count = 0};
    lower_many(&texts, target_name, write);
    cr_expect(texts.merges >= 1 && texts.merges <= most_merges, "%u merges for %s", texts.merges,
              target_name);
    /* One for a batch of 1 and one for others, each whole and in segments. */
    cr_expect_leq(texts.count - texts.merges, 4, "%u kernels for %s", texts.count, target_name);
}

/* Of few segments, and of more. */
Test(attention_texts, keys_of_any_length)
{
    for (size_t t = 0; t < TARGETS; t++)
        check(targets[t], plain, 2);
}

/* Those of results and those of statistics. CUDA has vectors of these only if all are aligned. */
Test(attention_texts, statistics_are_merged_as_well)
{
    for (size_t t = 0; t < TARGETS; t++)
        check(targets[t], with_statistics, strncmp(targets[t], "sm_", 3) == 0 ? 6 : 4);
}

/* Heads and batches are one axis where there is one batch. */
Test(attention_texts, what_is_behind_the_merge)
{
    for (size_t t = 0; t < TARGETS; t++)
        check(targets[t], with_epilogue, 4);
}

/* gfx950 transposes what it reads of LDS: values are staged as they lie, unless they are computed.
 */
Test(attention_texts, values_are_staged_as_they_lie)
{
    static const struct {
        const char *target, *sketch;
        bool is_transposed;
    } cases[] = {
        {"gfx950", "Sdpa q=1,2,512,64:HALF k=1,2,512,64:HALF v=1,2,512,64:HALF o=1,2,512,64:HALF",
         true},
        {"gfx950", "Sdpa q=1,2,512,60:HALF k=1,2,512,60:HALF v=1,2,512,60:HALF o=1,2,512,60:HALF",
         false},
        {"gfx942", "Sdpa q=1,2,512,64:HALF k=1,2,512,64:HALF v=1,2,512,64:HALF o=1,2,512,64:HALF",
         false},
        {"gfx950",
         "Pointwise in_0=1,2,512,64:HALF out_0=1,2,512,64:HALF:virtual !operation='RELU_FWD' | "
         "Sdpa q=1,2,512,64:HALF k=1,2,512,64:HALF v@2 o=1,2,512,64:HALF",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_arena arena;
        kiln_arena_init(&arena);
        const struct kiln_program program =
            sketch_lower(&arena, cases[i].sketch, cases[i].target, NULL);
        cr_assert_eq(program.kernel_count, 1);
        cr_expect_eq(strstr(program.kernels[0].source, "#define KILN_VALUE_IS_TRANSPOSED 1") !=
                         NULL,
                     cases[i].is_transposed, "%s %s", cases[i].target, cases[i].sketch);
        kiln_arena_fini(&arena);
    }
}
