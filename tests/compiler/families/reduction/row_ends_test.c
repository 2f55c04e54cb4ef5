#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/schedule/vector_access.h"

#include "compiler/emit/emit.h"
#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

struct ends {
    struct ir_fixture *fixture;
    struct kiln_fusion_group group;
    struct kiln_schedule schedule;
};

static struct ends ends_of(const char *target, enum reduction_content content,
                           enum kiln_dtype dtype, int64_t columns)
{
    struct reduction_case reduction = {
        .content = content, .rank = 2, .dims = {4096, columns}, .reduced_axes = 2, .dtype = dtype};
    struct ends ends = {.fixture = reduction_fixture_create(target)};
    ends.group = reduction_fixture_group(ends.fixture, &reduction);
    ends.schedule = reduction_fixture_schedule(ends.fixture, &ends.group);
    return ends;
}

static uint32_t skew_of(const char *target, enum reduction_content content, enum kiln_dtype dtype,
                        int64_t columns)
{
    struct ends ends = ends_of(target, content, dtype, columns);
    uint32_t skew = ends.schedule.walk.skew_elems;
    cr_expect(skew == 0 || ends.schedule.walk.moved_elems == 0);
    cr_expect(skew == 0 || kiln_schedule_has_tails(&ends.schedule));
    ir_fixture_destroy(ends.fixture);
    return skew;
}

Test(row_ends, vectors_of_long_rows_start_where_those_of_memory_do_on_cuda)
{
    cr_expect_eq(skew_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 8191), 3);
    cr_expect_eq(skew_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 10007), 7);
    cr_expect_eq(skew_of("sm_80", REDUCTION_NORM, KILN_DTYPE_F16, 10009), 1);
    cr_expect_eq(skew_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 10008), 0, "they do anyway");
    cr_expect_eq(skew_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 4097), 0, "local memory");
    cr_expect_eq(skew_of("gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 10007), 0,
                 "AMD GPUs access vectors anywhere");
}

Test(row_ends, skewed_vectors_are_aligned)
{
    struct ends ends = ends_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 10007);
    cr_expect_eq(ends.schedule.walk.vector_elems, 8);
    cr_expect_not(kiln_vectors_keep_multiples(&ends.schedule, 1),
                  "within a row they start anywhere");
    for (uint32_t i = 0; i < ends.group.access_count; i++) {
        cr_expect_eq(ends.schedule.accesses[i].mode, KILN_ACCESS_VECTOR);
        cr_expect_eq(ends.schedule.accesses[i].alignment_bytes, 16);
    }
    ir_fixture_destroy(ends.fixture);
}

/* As an operand that all rows share, or one whose rows are padded. */
Test(row_ends, operands_with_other_rows_than_the_result_are_not_aligned)
{
    struct ends ends = ends_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 10007);
    ends.schedule.accesses[0].alignment_bytes = 2;
    ends.schedule.accesses[0].strides[0] = 10008;
    kiln_set_vector_access(&ends.fixture->graph, &ends.fixture->target, &ends.schedule, &ends.group,
                           0, 1);
    cr_expect(kiln_access_is_unaligned(&ends.group, &ends.fixture->target, &ends.schedule, 0));
    ir_fixture_destroy(ends.fixture);
}

Test(row_ends, nothing_is_skewed_for_a_result_without_the_alignment)
{
    struct reduction_case reduction = {.content = REDUCTION_SOFTMAX,
                                       .rank = 2,
                                       .dims = {4096, 10007},
                                       .reduced_axes = 2,
                                       .dtype = KILN_DTYPE_F16};
    struct ir_fixture *fixture = reduction_fixture_create("sm_90");
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &reduction);
    fixture->tensors[group.accesses[group.access_count - 1].tensor].alignment_bytes = 2;
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    cr_expect_eq(schedule.walk.skew_elems, 0);
    ir_fixture_destroy(fixture);
}

/* As the scale of a block quantisation, which several rows share. */
Test(row_ends, operands_whose_rows_repeat_are_not_aligned)
{
    struct ends ends = ends_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 10007);
    const struct kiln_walk *walk = &ends.schedule.walk;
    cr_assert_eq(walk->skew_elems, 3);
    ends.schedule.accesses[0].alignment_bytes = 4;
    ends.schedule.accesses[0].repeats[0] = 32;
    kiln_set_vector_access(&ends.fixture->graph, &ends.fixture->target, &ends.schedule, &ends.group,
                           0, 1);
    cr_expect(kiln_access_is_unaligned(&ends.group, &ends.fixture->target, &ends.schedule, 0));
    ir_fixture_destroy(ends.fixture);
}

Test(row_ends, without_skew_the_shape_decides_what_is_aligned)
{
    static const struct {
        int64_t columns;
        bool is_unaligned;
    } cases[] = {{16384, false}, {16383, true}};
    for (size_t i = 0; i < 2; i++) {
        struct ends ends = ends_of("sm_90", REDUCTION_SUM, KILN_DTYPE_F32, cases[i].columns);
        ends.schedule.accesses[0].alignment_bytes = 4;
        ends.schedule.walk.skew_elems = 0;
        kiln_set_vector_access(&ends.fixture->graph, &ends.fixture->target, &ends.schedule,
                               &ends.group, 0, 1);
        cr_expect_eq(ends.schedule.accesses[0].alignment_bytes, cases[i].is_unaligned ? 4 : 16);
        cr_expect_eq(
            kiln_access_is_unaligned(&ends.group, &ends.fixture->target, &ends.schedule, 0),
            cases[i].is_unaligned);
        ir_fixture_destroy(ends.fixture);
    }
}

Test(row_ends, each_row_counts_its_own_vectors)
{
    struct ends ends = ends_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F16, 10007);
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_kernel kernel;
    struct kiln_emission emission = {.ir = &ends.fixture->ir,
                                     .graph = &ends.fixture->graph,
                                     .group = &ends.group,
                                     .schedule = &ends.schedule,
                                     .target = &ends.fixture->target};
    cr_assert_eq(kiln_emit_kernel(&emission, &kernel, &error), KILN_OK, "%s", error.text);
    static const char *const texts[] = {
        "#define KILN_ARE_SKEWED 1\n",
        "position.head = ((kiln_index)0 - position.c0 * 7u) % KILN_VECTOR;\n",
        "return (10007u - position.head) / KILN_VECTOR;\n",
        "position.column = position.head + rest * KILN_VECTOR;\n",
        "KILN_LOAD_STREAM(16, inputs.x0, ",
        "KILN_STORE_VECTOR(16, ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_expect_not_null(strstr(kernel.source, texts[i]), "no '%s'", texts[i]);
    ir_fixture_destroy(ends.fixture);
}
