#include "compiler/families/reduction/schedule/reduction_local.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/schedule/schedule.h"

#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>

/* Parts of the schedule for a tensor of 262144 rows. */
struct local_rows {
    bool is_local;
    struct kiln_reduction_schedule reduction;
    uint32_t block;
    uint32_t lds_bytes;
    uint32_t operand_elements;
};

static struct local_rows rows_of(const char *target, enum reduction_content content,
                                 enum kiln_dtype dtype, int64_t columns)
{
    struct reduction_case reduction = {.content = content,
                                       .rank = 2,
                                       .dims = {1 << 18, columns},
                                       .reduced_axes = 2,
                                       .dtype = dtype};
    struct ir_fixture *fixture = reduction_fixture_create(target);
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &reduction);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    struct local_rows rows = {
        .reduction = *kiln_reduction_schedule_of(&schedule),
        .block = schedule.launch.block,
        .lds_bytes = schedule.launch.lds_bytes,
    };
    rows.is_local = rows.reduction.held == KILN_HELD_LOCAL;
    if (rows.is_local) {
        cr_expect_eq(schedule.accesses[0].mode, KILN_ACCESS_STAGED);
        cr_expect_eq(schedule.walk.vector_elems, 1);
        rows.operand_elements = kiln_local_elements(&group, &schedule, 0);
    }
    ir_fixture_destroy(fixture);
    return rows;
}

Test(reduction_local, rows_that_vectors_cut_are_copied_to_local_memory)
{
    static const struct {
        const char *target;
        enum reduction_content content;
        enum kiln_dtype dtype;
        int64_t columns;
        bool is_local;
        const char *why;
    } cases[] = {
        {"gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 17, true, "three vectors for four items"},
        {"gfx942", REDUCTION_NORM, KILN_DTYPE_F16, 95, true, "twelve vectors for sixteen items"},
        {"gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 127, false, "sixteen vectors, one moved"},
        {"gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 24, false, "vectors divide the row"},
        {"gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 17, false, "too much for local memory"},
        {"gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 1023, false, "long"},
        {"sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 127, true, "vectors are not aligned"},
        {"sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 4097, true, "vectors are not aligned"},
        {"sm_90", REDUCTION_NORM, KILN_DTYPE_F32, 4097, false, "vectors of words are cheap"},
        {"sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 4096, false, "vectors are aligned"},
        {"sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 50257, false, "too much for local memory"},
        {"host", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 17, false, "a CPU has caches"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct local_rows rows =
            rows_of(cases[i].target, cases[i].content, cases[i].dtype, cases[i].columns);
        cr_expect_eq(rows.is_local, cases[i].is_local, "%s, %d columns: %s", cases[i].target,
                     (int)cases[i].columns, cases[i].why);
    }
}

Test(reduction_local, work_items_have_a_few_elements_each)
{
    struct local_rows rows = rows_of("gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 17);
    cr_expect_eq(rows.reduction.items_along_reduced, 1);
    cr_expect_eq(rows.reduction.steps_per_item, 17);
    cr_expect_eq(rows.reduction.items_along_kept, 128);
    cr_expect_eq(rows.block, 128);
    rows = rows_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 1023);
    cr_expect_eq(rows.reduction.items_along_reduced, 32, "a row is one wave's");
    cr_expect_eq(rows.reduction.steps_per_item, 32);
    rows = rows_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 4097);
    cr_expect_eq(rows.reduction.items_along_reduced, 128);
}

Test(reduction_local, rows_may_begin_anywhere_within_a_word)
{
    struct local_rows rows = rows_of("gfx942", REDUCTION_SUM, KILN_DTYPE_BF16, 17);
    cr_assert(rows.is_local);
    cr_expect_eq(rows.operand_elements, (128 * 17 + 7 + 7) / 8 * 8);
    cr_expect_eq(rows.lds_bytes, rows.operand_elements * 2);
}

Test(reduction_local, results_take_the_place_of_operands_that_every_pass_has_read)
{
    struct local_rows rows = rows_of("gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 17);
    cr_expect(rows.reduction.results_replace_operands);
    cr_expect_eq(rows.lds_bytes, rows.operand_elements * 2);
    rows = rows_of("gfx942", REDUCTION_SUM, KILN_DTYPE_BF16, 17);
    cr_expect_not(rows.reduction.results_replace_operands, "there is one pass");
}

/* 127 halves are 63.5 words, so four neighbouring rows would begin in almost the same bank. */
Test(reduction_local, rows_of_a_wave_are_spread_over_the_banks)
{
    struct local_rows rows = rows_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 127);
    cr_expect_eq(rows.reduction.items_along_reduced, 8);
    cr_expect_gt(rows.reduction.row_spacing, 1);
    rows = rows_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_BF16, 1023);
    cr_expect_eq(rows.reduction.row_spacing, 1, "a wave has one row");
}
