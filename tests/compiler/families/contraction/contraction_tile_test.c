/*
 * Tiles of contractions: what the model chooses can be made, whatever the product, and what is
 * forced is either done or refused with a sentence.
 */
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_tile.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const targets[] = {"gfx900",  "gfx908",  "gfx90a", "gfx942", "gfx1030",
                                      "gfx1100", "gfx1201", "sm_75",  "sm_90",  "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static struct kiln_target find_target(const char *name)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(name, &target, &error), KILN_OK);
    return target;
}

static const struct kiln_register_limits no_limits = {
    .vector_elems = UINT32_MAX, .steps = UINT32_MAX, .held_elems = UINT64_MAX};
static const struct kiln_contraction_options nothing_forced;

static struct kiln_tile_problem make_problem(const struct kiln_target *target,
                                             enum kiln_dtype staged)
{
    uint32_t bytes = kiln_dtype_info(staged)->bytes;
    return (struct kiln_tile_problem){
        .target = target,
        .limits = &no_limits,
        .forced = &nothing_forced,
        .batch = 1,
        .sum_bytes = staged == KILN_DTYPE_F64 ? 8 : 4,
        .left = {.bytes = bytes, .memory_bytes = bytes, .load_excess = 1, .is_whole = true},
        .right = {.bytes = bytes, .memory_bytes = bytes, .load_excess = 1, .is_whole = true},
        .lane_run = 1,
        .result_bytes = bytes,
        .are_operands_loaded = true,
    };
}

static void expect_possible(const struct kiln_tile_problem *problem,
                            const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_target *target = problem->target;
    uint32_t waves =
        contraction->tile.waves_m * contraction->tile.waves_n * contraction->tile.waves_k;
    uint32_t rows_m = kiln_fragment_rows_m(contraction, target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, target);
    cr_expect_leq(
        (waves + kiln_pipeline_producer_waves(&contraction->pipeline)) * target->wave_size, 1024);
    cr_expect_eq(contraction->tile.m % (contraction->tile.waves_m * rows_m), 0);
    cr_expect_eq(contraction->tile.n % (contraction->tile.waves_n * rows_n), 0);
    cr_expect_eq(contraction->tile.k % kiln_pack_elements(contraction), 0);
    cr_expect_leq(kiln_contraction_lds_bytes(contraction, target, problem->sum_bytes),
                  contraction->pipeline.kind == KILN_PIPELINE_SPECIALIZED ? 227 << 10
                                                                          : target->lds_bytes);
    cr_expect_eq(contraction->pipeline.kind == KILN_PIPELINE_STREAMED,
                 kiln_pipeline_buffers(&contraction->pipeline) == 0);
    cr_expect(contraction->pipeline.kind != KILN_PIPELINE_PINGPONG ||
              contraction->problem.k >= contraction->tile.k);
    /* No work-group of a cluster is without a tile of k. */
    cr_expect_geq(kiln_pipeline_groups(&contraction->pipeline), 1);
    cr_expect(kiln_pipeline_groups(&contraction->pipeline) == 1 ||
              (contraction->pipeline.kind == KILN_PIPELINE_SPECIALIZED &&
               contraction->problem.k >=
                   (int64_t)kiln_pipeline_groups(&contraction->pipeline) * contraction->tile.k));
    /* device/mma/wgmma.h: who waits for a slot of the ring has waited for it each time. */
    if (contraction->pipeline.kind == KILN_PIPELINE_SPECIALIZED) {
        cr_expect_eq(kiln_pipeline_buffers(&contraction->pipeline) % contraction->tile.waves_k, 0);
        cr_expect_gt(kiln_pipeline_buffers(&contraction->pipeline), contraction->tile.waves_k);
    }
}

Test(contraction_tile, whatever_the_product_there_is_a_tile_for_it)
{
    static const enum kiln_dtype types[] = {KILN_DTYPE_F16, KILN_DTYPE_BF16, KILN_DTYPE_F32,
                                            KILN_DTYPE_F64, KILN_DTYPE_I8};
    struct kiln_random random = {.state = 3};
    for (int i = 0; i < 2000; i++) {
        struct kiln_target target = find_target(targets[i % TARGET_COUNT]);
        struct kiln_tile_problem problem =
            make_problem(&target, types[kiln_random_below(&random, 5)]);
        struct kiln_register_limits limits = no_limits;
        struct kiln_contraction_schedule contraction = {
            .staged = types[kiln_random_below(&random, 5)],
            .problem.products = 1 + kiln_random_below(&random, 2)};
        contraction.problem.m =
            1 + (int64_t)kiln_random_below(&random, (uint32_t)1 << kiln_random_below(&random, 14));
        contraction.problem.n =
            1 + (int64_t)kiln_random_below(&random, (uint32_t)1 << kiln_random_below(&random, 14));
        contraction.problem.k =
            1 + (int64_t)kiln_random_below(&random, (uint32_t)1 << kiln_random_below(&random, 14));
        problem.batch = 1 + kiln_random_below(&random, 5);
        problem.left.is_along_rows = kiln_random_below(&random, 2) != 0;
        problem.right.is_along_rows = kiln_random_below(&random, 2) != 0;
        problem.left.is_whole = kiln_random_below(&random, 2) != 0;
        problem.right.is_whole = kiln_random_below(&random, 2) != 0;
        if (kiln_random_below(&random, 4) == 0) {
            limits.held_elems = 32u << kiln_random_below(&random, 3);
            limits.steps = 1 + kiln_random_below(&random, 8);
        }
        problem.limits = &limits;
        cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
        expect_possible(&problem, &contraction);
    }
}

static struct kiln_contraction_schedule choose(const char *name, int64_t m, int64_t n, int64_t k)
{
    struct kiln_target target = find_target(name);
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                    .problem.products = 1,
                                                    .problem.m = m,
                                                    .problem.n = n,
                                                    .problem.k = k};
    cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
    return contraction;
}

/* On every GPU with matrix instructions: waves along k where one operand has few rows, whichever
 * it is, and the largest tiles where both have many. */
Test(contraction_tile, few_rows_have_waves_along_k_and_many_have_large_tiles)
{
    static const char *const names[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int64_t rows = 1; rows <= 16; rows *= 4) {
            struct kiln_contraction_schedule few = choose(names[i], rows, 4096, 4096);
            cr_expect(few.tile.waves_k > 1 && few.tile.m == 16, "%s", names[i]);
            few = choose(names[i], 4096, rows, 4096);
            cr_expect(few.tile.waves_k > 1 && few.tile.n == 16, "%s", names[i]);
        }
        struct kiln_contraction_schedule many = choose(names[i], 8192, 8192, 8192);
        cr_expect(many.pipeline.kind != KILN_PIPELINE_STREAMED && many.tile.m >= 128 &&
                      many.tile.n >= 128,
                  "%s", names[i]);
    }
    cr_expect(choose("gfx942", 8192, 8192, 8192).pipeline.kind == KILN_PIPELINE_PINGPONG);
    cr_expect_not(choose("gfx90a", 8192, 8192, 8192).pipeline.kind == KILN_PIPELINE_PINGPONG,
                  "it is only forced there");
    cr_expect_not(choose("gfx942", 8192, 8192, 40).pipeline.kind == KILN_PIPELINE_PINGPONG,
                  "its k is less than a tile");
}

Test(contraction_tile, bytes_across_k_have_room_for_quarters_of_packs)
{
    static const char *const names[] = {"gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kiln_target target = find_target(names[i]);
        struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_I8);
        struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_I8,
                                                        .problem.products = 1,
                                                        .problem.m = 4096,
                                                        .problem.n = 4096,
                                                        .problem.k = 4096};
        problem.left.is_along_rows = problem.right.is_along_rows = true;
        cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
        cr_expect_eq(contraction.tile.k, 128, "%s", names[i]);
        cr_expect_eq(contraction.tile.m, 128, "%s", names[i]);
        const struct kiln_contraction_options forced = {.form = KILN_CONTRACTION_PLAIN};
        problem.forced = &forced;
        cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
        cr_expect_eq(contraction.tile.k, 128, "%s", names[i]);
        cr_expect_eq(contraction.tile.m, 128, "%s", names[i]);
    }
}

/* A tile that a rule has chosen has the efficiency of one for any product, not of one for a kind.
 */
Test(contraction_tile, the_time_of_a_tile_is_the_same_whoever_chose_it)
{
    struct kiln_target target = find_target("gfx90a");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    struct kiln_contraction_schedule contraction = choose("gfx90a", 8192, 8192, 8192);
    cr_expect_eq(contraction.tile.m, 128);
    cr_expect_float_eq(kiln_staged_time_ns(&problem, &contraction), contraction.time_ns, 1);
}

static bool takes_turns(const struct kiln_tile_problem *problem, uint32_t windows)
{
    struct kiln_contraction_schedule contraction = {.problem.m = 8192,
                                                    .problem.n = 8192,
                                                    .problem.k = 8192,
                                                    .staged = KILN_DTYPE_F16,
                                                    .problem.products = 1,
                                                    .problem.windows.count = windows};
    cr_assert_null(kiln_choose_contraction_tile(problem, &contraction));
    return contraction.pipeline.kind == KILN_PIPELINE_PINGPONG;
}

Test(contraction_tile, computed_operands_take_turns_where_registers_suffice)
{
    struct kiln_target target = find_target("gfx942");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    problem.are_operands_loaded = false;
    problem.right.cost = 4;
    cr_expect(takes_turns(&problem, 0));
    problem.right.is_along_rows = true;
    cr_expect(takes_turns(&problem, 0));
    problem.left.is_along_rows = true;
    cr_expect_not(takes_turns(&problem, 0), "runs of both are put together");
    problem.left.is_along_rows = problem.right.is_along_rows = false;
    cr_expect_not(takes_turns(&problem, 1));
    problem.are_operands_loaded = true;
    cr_expect(takes_turns(&problem, 0));
}

Test(contraction_tile, on_hopper_clusters_share_a_long_k_of_few_tiles)
{
    static const uint32_t rows[] = {64, 512};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_contraction_schedule chosen = choose("sm_90", rows[i], 1024, 11008);
        cr_expect_gt(kiln_pipeline_groups(&chosen.pipeline), 1);
        cr_expect_gt(kiln_pipeline_producer_waves(&chosen.pipeline), 0);
    }
    struct kiln_contraction_schedule large = choose("sm_90", 8192, 8192, 8192);
    cr_expect_eq(kiln_pipeline_groups(&large.pipeline), 1, "tiles are enough");
    cr_expect(choose("sm_90", 16, 1024, 1024).pipeline.kind == KILN_PIPELINE_STREAMED);

    struct kiln_target target = find_target("sm_90");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                    .problem.products = 1,
                                                    .problem.m = 512,
                                                    .problem.n = 1024,
                                                    .problem.k = 11008};
    problem.is_alone = true;
    cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
    cr_expect_eq(kiln_pipeline_groups(&contraction.pipeline), 1);
}

/* Half of the ring each, or a third, and as few registers as leave room for the others. */
Test(contraction_tile, on_hopper_many_tiles_with_a_short_k_share_a_compute_unit)
{
    enum { UNIT_LDS_BYTES = 228 << 10, UNIT_WORK_ITEMS = 2048, SUM_BYTES = 4 };
    static const struct {
        int64_t m, n, k;
        uint32_t residents;
    } rows[] = {
        {200704, 64, 64, 3},   {200704, 64, 576, 3}, {200704, 256, 64, 2}, {50176, 512, 256, 2},
        {50176, 512, 1024, 1}, {512, 4096, 256, 1},  {512, 64, 64, 1},
    };
    struct kiln_target target = find_target("sm_90");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_contraction_schedule chosen = choose("sm_90", rows[i].m, rows[i].n, rows[i].k);
        uint32_t lds = kiln_contraction_lds_bytes(&chosen, &target, SUM_BYTES);
        uint32_t waves = chosen.tile.waves_m * chosen.tile.waves_n * chosen.tile.waves_k +
                         kiln_pipeline_producer_waves(&chosen.pipeline);
        cr_expect_eq(UNIT_LDS_BYTES / lds, rows[i].residents, "%zu: %u bytes", i, lds);
        cr_expect_leq(rows[i].residents * waves * target.wave_size, UNIT_WORK_ITEMS);
    }
}

Test(contraction_tile, narrow_bounds_make_smaller_kernels)
{
    struct kiln_target target = find_target("gfx942");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    struct kiln_register_limits limits = no_limits;
    struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                    .problem.products = 1,
                                                    .problem.m = 8192,
                                                    .problem.n = 8192,
                                                    .problem.k = 8192};
    problem.limits = &limits;
    limits.held_elems = 128;
    cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
    cr_expect_leq(contraction.tile.m, 128);
    const struct kiln_contraction_options streamed = {.form = KILN_CONTRACTION_STREAMED};
    problem.forced = &streamed;
    contraction.problem.m = 1;
    limits.steps = 1;
    cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
    cr_expect(contraction.pipeline.kind == KILN_PIPELINE_STREAMED);
    cr_expect_eq(contraction.tile.k, 32, "one step of the instruction");
}

/* A wave of a streamed kernel computes its own copy of what the waves of a staged one share. */
Test(contraction_tile, computed_operands_with_some_rows_are_staged)
{
    struct kiln_target target = find_target("gfx942");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    problem.right.memory_bytes = 0.5;
    problem.right.bytes = 1;
    problem.right.load_excess = 2;
    problem.right.cost = 6;
    problem.lane_run = 4;
    const enum kiln_pipeline_kind kinds[] = {KILN_PIPELINE_STREAMED, KILN_PIPELINE_STAGED};
    const int64_t rows[] = {1, 64};
    for (size_t i = 0; i < 2; i++) {
        struct kiln_contraction_schedule contraction = {
            .staged = KILN_DTYPE_F16,
            .problem = {.products = 1, .m = rows[i], .n = 14336, .k = 4096}};
        cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
        cr_expect_eq(contraction.pipeline.kind, kinds[i], "%d rows", (int)rows[i]);
    }
}

/* gfx11 keeps large tiles for operands that something is computed of: half the sums in a wave. */
Test(contraction_tile, computed_operands_of_gfx11_have_twice_the_waves)
{
    static const char *const names[] = {"gfx90a", "gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int are_loaded = 0; are_loaded < 2; are_loaded++) {
            struct kiln_target target = find_target(names[i]);
            struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
            struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                            .problem.products = 1,
                                                            .problem.m = 8192,
                                                            .problem.n = 8192,
                                                            .problem.k = 8192};
            problem.are_operands_loaded = are_loaded;
            cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
            bool is_gfx11 = strcmp(names[i], "gfx1100") == 0;
            cr_expect_eq(contraction.tile.m, 128, "%s", names[i]);
            cr_expect_eq(contraction.tile.n, 128, "%s", names[i]);
            cr_expect_eq(contraction.tile.waves_m * contraction.tile.waves_n,
                         is_gfx11 && !are_loaded ? 8 : 4, "%s", names[i]);
        }
    }
}

static const struct {
    const char *target;
    struct kiln_contraction_options forced;
    const char *words; /* NULL: it is done */
} forced[] = {
    {"gfx942", {.form = KILN_CONTRACTION_PLAIN}, NULL},
    {"gfx942", {.form = KILN_CONTRACTION_STREAMED}, NULL},
    {"gfx942", {.form = KILN_CONTRACTION_PINGPONG}, NULL},
    {"gfx90a", {.form = KILN_CONTRACTION_PINGPONG}, NULL},
    {"host", {.form = KILN_CONTRACTION_STREAMED}, NULL},
    {"gfx942", {.tile_m = 64, .tile_n = 32, .waves_m = 2, .waves_n = 1, .waves_k = 1}, NULL},
    {"gfx942",
     {.form = KILN_CONTRACTION_PLAIN,
      .tile_m = 32,
      .tile_n = 32,
      .tile_k = 256,
      .waves_m = 1,
      .waves_n = 1,
      .waves_k = 8},
     NULL},
    {"gfx1100", {.form = KILN_CONTRACTION_PINGPONG}, "ping-pong schedule is for"},
    {"host", {.form = KILN_CONTRACTION_PINGPONG}, "no such schedule"},
    {"gfx942", {.form = KILN_CONTRACTION_SPECIALIZED}, "no such schedule"},
    {"sm_90", {.form = KILN_CONTRACTION_SPECIALIZED, .tile_m = 128, .tile_n = 128}, NULL},
    {"sm_90",
     {.form = KILN_CONTRACTION_SPECIALIZED,
      .tile_m = 64,
      .tile_n = 32,
      .waves_m = 4,
      .waves_n = 1,
      .waves_k = 2},
     NULL},
    {"sm_90", {.form = KILN_CONTRACTION_SPECIALIZED, .waves_m = 3, .waves_n = 1}, "no such"},
    {"sm_90", {.form = KILN_CONTRACTION_STREAMED}, NULL},
    {"gfx942", {.tile_m = 24, .tile_n = 64}, "whole number of fragments"},
    {"gfx942",
     {.tile_m = 64, .tile_n = 96, .waves_m = 1, .waves_n = 1, .waves_k = 1},
     "no power of two"},
    {"gfx942", {.tile_m = 2048, .tile_n = 2048}, "registers"},
    {"gfx942", {.waves_m = 4, .waves_n = 4, .waves_k = 4}, "1024 work-items"},
    {"gfx942",
     {.form = KILN_CONTRACTION_PLAIN, .tile_m = 128, .tile_n = 128, .tile_k = 512},
     "local memory"},
    {"gfx942",
     {.form = KILN_CONTRACTION_PLAIN, .tile_m = 64, .tile_n = 64, .tile_k = 40},
     "steps of the instruction"},
    {"gfx942",
     {.form = KILN_CONTRACTION_PLAIN,
      .tile_m = 64,
      .tile_n = 64,
      .tile_k = 32,
      .waves_m = 1,
      .waves_n = 1,
      .waves_k = 4},
     "cannot be shared"},
    {"gfx942",
     {.form = KILN_CONTRACTION_STREAMED, .tile_m = 16, .tile_n = 16, .tile_k = 512},
     "8 steps"},
};

Test(contraction_tile, what_is_forced_is_done_or_refused)
{
    for (size_t i = 0; i < sizeof forced / sizeof *forced; i++) {
        struct kiln_target target = find_target(forced[i].target);
        struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
        struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                        .problem.products = 1,
                                                        .problem.m = 512,
                                                        .problem.n = 512,
                                                        .problem.k = 512};
        const struct kiln_contraction_options *wanted = &forced[i].forced;
        problem.forced = wanted;
        const char *fault = kiln_choose_contraction_tile(&problem, &contraction);
        if (forced[i].words != NULL) {
            cr_expect(fault != NULL && strstr(fault, forced[i].words) != NULL, "%zu: %s", i,
                      fault != NULL ? fault : "done");
            continue;
        }
        cr_assert_null(fault, "%zu: %s", i, fault);
        expect_possible(&problem, &contraction);
        cr_expect_eq(contraction.pipeline.kind == KILN_PIPELINE_STREAMED,
                     wanted->form == KILN_CONTRACTION_STREAMED ||
                         (wanted->form == KILN_CONTRACTION_ANY &&
                          contraction.pipeline.kind == KILN_PIPELINE_STREAMED));
        cr_expect_eq(contraction.pipeline.kind == KILN_PIPELINE_PINGPONG,
                     wanted->form == KILN_CONTRACTION_PINGPONG);
        cr_expect(wanted->tile_m == 0 ||
                  (contraction.tile.m == wanted->tile_m && contraction.tile.n == wanted->tile_n));
        cr_expect(wanted->waves_m == 0 || (contraction.tile.waves_m == wanted->waves_m &&
                                           contraction.tile.waves_n == wanted->waves_n &&
                                           contraction.tile.waves_k == wanted->waves_k));
        cr_expect(wanted->tile_k == 0 || contraction.tile.k == wanted->tile_k);
    }
}

/* On Hopper 16 rows are streamed, by waves that share k. */
Test(contraction_tile, forced_waves_are_not_exchanged_for_those_of_a_stream)
{
    const struct kiln_contraction_options waves = {.waves_m = 4, .waves_n = 1, .waves_k = 2};
    struct kiln_target target = find_target("sm_90");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                    .problem.products = 1,
                                                    .problem.m = 16,
                                                    .problem.n = 1024,
                                                    .problem.k = 2048};
    problem.forced = &waves;
    cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
    cr_expect_eq(contraction.tile.waves_m, 4);
    cr_expect_eq(contraction.tile.waves_k, 2);
}

/* Few columns of windows have tiles of 128 x 32, or streamed ones. Here neither is possible: gfx11
 * has too few registers for computed operands, and no step may be loaded ahead. */
Test(contraction_tile, what_is_preferred_leaves_others_where_it_is_impossible)
{
    const struct kiln_register_limits limits = {
        .vector_elems = UINT32_MAX, .steps = 0, .held_elems = UINT64_MAX};
    struct kiln_target target = find_target("gfx1100");
    struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
    struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                    .problem.products = 1,
                                                    .problem.windows.count = 2,
                                                    .problem.m = 50176,
                                                    .problem.n = 16,
                                                    .problem.k = 288};
    problem.are_operands_loaded = false;
    problem.limits = &limits;
    const char *fault = kiln_choose_contraction_tile(&problem, &contraction);
    cr_assert_null(fault, "%s", fault);
    expect_possible(&problem, &contraction);
}

/* More of the same work takes longer. */
Test(contraction_tile, time_grows_with_the_product)
{
    for (int t = 0; t < TARGET_COUNT; t++) {
        struct kiln_target target = find_target(targets[t]);
        struct kiln_tile_problem problem = make_problem(&target, KILN_DTYPE_F16);
        double before = 0;
        for (int64_t k = 1024; k <= 65536; k *= 4) {
            struct kiln_contraction_schedule contraction = {.staged = KILN_DTYPE_F16,
                                                            .problem.products = 1,
                                                            .problem.m = 2048,
                                                            .problem.n = 2048,
                                                            .problem.k = k};
            cr_assert_null(kiln_choose_contraction_tile(&problem, &contraction));
            cr_expect_gt(contraction.time_ns, before, "%s", targets[t]);
            before = contraction.time_ns;
        }
    }
}
