/*
 * Sizes are arguments: how many kernels a model's worth of shapes of one product compiles. Texts
 * are told apart by their symbols, which are made of them.
 */
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/compiler/sketched_plans.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SHAPES = 200, SYMBOL_BYTES = 64 };

struct texts {
    char symbols[SHAPES][SYMBOL_BYTES];
    unsigned count;
};

static void count_text(struct texts *texts, const char *symbol)
{
    unsigned i = 0;
    while (i < texts->count && strcmp(texts->symbols[i], symbol) != 0)
        i++;
    if (i == texts->count)
        (void)snprintf(texts->symbols[texts->count++], SYMBOL_BYTES, "%s", symbol);
}

/* gelu(a x b + bias) of half numbers. */
static void lower(struct texts *texts, const char *target_name, long m, long n, long k)
{
    char sketch[512];
    struct kiln_arena arena;
    (void)snprintf(sketch, sizeof sketch,
                   "Matmul a=%ld,%ld:HALF b=%ld,%ld:HALF c=%ld,%ld:virtual | Pointwise in_0@3 "
                   "in_1=%ld:HALF out_0=%ld,%ld:virtual !operation='ADD' | Pointwise in_0@5 "
                   "out_0=%ld,%ld:HALF !operation='GELU_FWD'",
                   m, k, k, n, m, n, n, m, n, m, n);
    kiln_arena_init(&arena);
    const struct kiln_program program = sketch_lower(&arena, sketch, target_name, NULL);
    for (uint32_t i = 0; i < program.kernel_count; i++)
        count_text(texts, program.kernels[i].symbol);
    kiln_arena_fini(&arena);
}

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_90"};
enum { TARGETS = sizeof targets / sizeof *targets };

/* Widths as models have them, any number of tokens. */
Test(contraction_texts, shapes_of_models)
{
    static const long widths[] = {512,  768,  1024, 1280, 1536,  2048, 2560,
                                  3072, 4096, 5120, 8192, 11008, 14336};
    enum { WIDTHS = sizeof widths / sizeof *widths };
    for (size_t t = 0; t < TARGETS; t++) {
        struct texts texts = {.count = 0};
        struct kiln_random random = {1};
        for (int i = 0; i < SHAPES; i++) {
            long m = 1 + (long)kiln_random_below(&random, 4096);
            long n = widths[kiln_random_below(&random, WIDTHS)];
            lower(&texts, targets[t], m, n, widths[kiln_random_below(&random, WIDTHS)]);
        }
        cr_assert_leq(texts.count, 12, "%u kernels for %s", texts.count, targets[t]);
    }
}

/* Every size from 1 on. What is left are tiles times the widths of vectors that rows of n and of k
 * allow: 1, 2, 4 or 8 each. */
Test(contraction_texts, any_shapes)
{
    for (size_t t = 0; t < TARGETS; t++) {
        struct texts texts = {.count = 0};
        struct kiln_random random = {1};
        for (int i = 0; i < SHAPES; i++) {
            long m = 1 + (long)kiln_random_below(&random, 4096);
            long n = 1 + (long)kiln_random_below(&random, 4096);
            lower(&texts, targets[t], m, n, 1 + (long)kiln_random_below(&random, 4096));
        }
        cr_assert_leq(texts.count, 64, "%u kernels for %s", texts.count, targets[t]);
    }
}

/* On AMD GPUs, whichever way the operand lies: one by one LLVM takes four instructions for each. */
Test(contraction_texts, int8_is_made_float_a_pack_at_a_time)
{
    static const struct {
        const char *target;
        bool is_pack;
    } cases[] = {
        {"gfx90a", true},  {"gfx942", true}, {"gfx1030", true},
        {"gfx1201", true}, {"sm_90", false}, {"host", false},
    };
    static const char *const weights[] = {"in_0=256,512:INT8:turned", "in_0=256,512:INT8"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
            char sketch[256];
            struct kiln_arena arena;
            (void)snprintf(sketch, sizeof sketch,
                           "Pointwise %s in_1=1,512 out_0=256,512:virtual:HALF !operation='MUL' | "
                           "Matmul a=512,256:HALF b@3 c=512,512:HALF",
                           weights[w]);
            kiln_arena_init(&arena);
            const struct kiln_program program = sketch_lower(&arena, sketch, cases[i].target, NULL);
            cr_expect_eq(program.kernel_count, 1);
            cr_expect_eq(strstr(program.kernels[0].source, ", float floats") != NULL,
                         cases[i].is_pack, "%s %s", cases[i].target, weights[w]);
            kiln_arena_fini(&arena);
        }
    }
}

/* A pack along k repeats the element, so it does not lie in memory as it is staged. */
Test(contraction_texts, operands_that_do_not_vary_along_k_are_not_copied)
{
    const struct kiln_lower_options options = {.contraction.form = KILN_CONTRACTION_SPECIALIZED};
    struct kiln_program program;
    struct kiln_target target;
    struct kiln_arena arena;
    struct json_graph read;
    kiln_arena_init(&arena);
    graph_sketch_accept(&read, "Matmul a=62,1:HALF b=1,64:HALF c=62,64", NULL);
    cr_assert_eq(kiln_target_parse("sm_90", &target, &read.error), KILN_OK);
    cr_assert_eq(kiln_lower(&read.graph, &target, &options, &arena, &program, NULL, &read.error),
                 KILN_OK, "%s", read.error.text);
    const char *source = program.kernels[0].source;
    cr_expect_not_null(strstr(source, "#define KILN_RIGHT_IS_COPIED 0"), "%s", source);
    cr_expect_not_null(strstr(source, "(right, RIGHT, 0, REPEATED,"), "%s", source);
    json_graph_fini(&read);
    kiln_arena_fini(&arena);
}

static bool has_text(const char *target, const char *sketch, const char *text)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    const struct kiln_program program = sketch_lower(&arena, sketch, target, NULL);
    bool found = false;
    for (uint32_t i = 0; i < program.kernel_count; i++)
        found |= strstr(program.kernels[i].source, text) != NULL;
    kiln_arena_fini(&arena);
    return found;
}

/* gfx950 transposes what it reads of LDS, in whole packs of rows. */
Test(contraction_texts, operands_across_k_are_staged_as_they_lie)
{
    static const struct {
        const char *operands;
        bool is_left, is_right;
    } cases[] = {
        {"a=4096,4096:HALF:turned b=4096,4096:HALF c=4096,4096", true, true},
        {"a=4096,4096:HALF b=4096,4096:HALF c=4096,4096", false, true},
        {"a=4096,4096:INT8:turned b=4096,4096:INT8 c=4096,4096:INT32", true, true},
        {"a=4096,4096:HALF b=4096,4096:HALF:turned c=4096,4096", false, false},
        /* not whole packs, and 32 bits */
        {"a=4095,4096:HALF:turned b=4096,4095:HALF c=4095,4095", false, false},
        {"a=4096,4096:FLOAT:turned b=4096,4096:FLOAT c=4096,4096:FLOAT", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sketch[256];
        (void)snprintf(sketch, sizeof sketch, "Matmul %s", cases[i].operands);
        cr_expect_eq(has_text("gfx950", sketch, "#define KILN_LEFT_IS_TRANSPOSED 1"),
                     cases[i].is_left, "%s", sketch);
        cr_expect_eq(has_text("gfx950", sketch, "#define KILN_RIGHT_IS_TRANSPOSED 1"),
                     cases[i].is_right, "%s", sketch);
        cr_expect_not(has_text("gfx942", sketch, "_IS_TRANSPOSED 1"), "%s", sketch);
    }
}
