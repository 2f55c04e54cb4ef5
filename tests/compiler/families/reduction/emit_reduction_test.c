#include "compiler/emit/emit.h"

#include "compiler/families/reduction/schedule/reduction_lds.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct emitted {
    struct ir_fixture *fixture;
    struct kiln_fusion_group group;
    struct kiln_schedule schedule;
    struct kiln_kernel kernel;
};

static void emit_scheduled(struct emitted *emitted)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_emission emission = {.ir = &emitted->fixture->ir,
                                     .graph = &emitted->fixture->graph,
                                     .group = &emitted->group,
                                     .schedule = &emitted->schedule,
                                     .target = &emitted->fixture->target};
    cr_assert_eq(kiln_emit_kernel(&emission, &emitted->kernel, &error), KILN_OK, "%s", error.text);
}

static struct emitted emit(const char *target, const struct reduction_case *reduction)
{
    struct emitted emitted = {.fixture = reduction_fixture_create(target)};
    emitted.group = reduction_fixture_group(emitted.fixture, reduction);
    emitted.schedule = reduction_fixture_schedule(emitted.fixture, &emitted.group);
    emit_scheduled(&emitted);
    return emitted;
}

static const struct reduction_case norm = {.content = REDUCTION_NORM,
                                           .rank = 2,
                                           .dims = {4096, 4096},
                                           .reduced_axes = 2,
                                           .dtype = KILN_DTYPE_F16};

#define EXPECT_TEXT(emitted, text)                                                                 \
    cr_assert_not_null(strstr((emitted).kernel.source, text), "no '%s'", text)
#define EXPECT_NO_TEXT(emitted, text)                                                              \
    cr_assert_null(strstr((emitted).kernel.source, text), "'%s'", text)

/* How often a text occurs. */
static int count(const struct emitted *emitted, const char *text)
{
    int times = 0;
    for (const char *at = emitted->kernel.source; (at = strstr(at, text)) != NULL; at++)
        times++;
    return times;
}

Test(emit_reduction, a_held_row_is_loaded_once_sixteen_bytes_at_a_time)
{
    struct emitted emitted = emit("gfx90a", &norm);
    EXPECT_TEXT(emitted, "#define KILN_SYMBOL kiln_reduction_");
    EXPECT_TEXT(emitted, "#define KILN_IS_RESIDENT 1\n");
    EXPECT_TEXT(emitted, "#define KILN_PASSES(run) run(0) run(1)\n");
    cr_assert_eq(count(&emitted, "KILN_LOAD_STREAM(16, inputs.x0, "), 1);
    cr_assert_eq(count(&emitted, "KILN_STORE_VECTOR(16, "), 1);
    EXPECT_TEXT(emitted, "#line 1 \"device/moments.h\"");
    EXPECT_NO_TEXT(emitted, "struct kiln_inputs_element {");
    cr_assert(emitted.kernel.uses_barrier);
    cr_assert_eq(emitted.kernel.lds_bytes, emitted.schedule.launch.lds_bytes);
    ir_fixture_destroy(emitted.fixture);
}

/* An AMD GPU's correctly rounded division takes twice as long, and nothing of it can be shared. */
Test(emit_reduction, a_row_is_divided_by_one_number_in_the_shared_form)
{
    struct reduction_case softmax = norm;
    softmax.content = REDUCTION_SOFTMAX;
    struct emitted emitted = emit("gfx942", &softmax);
    EXPECT_TEXT(emitted, " = kiln_div_shared_f32(");
    EXPECT_NO_TEXT(emitted, " = kiln_div_f32(");
    EXPECT_TEXT(emitted, "#line 1 \"device/quotient_f32.h\"");
    ir_fixture_destroy(emitted.fixture);
}

/* A comparison for two elements tells a NaN, so that the maximum need not. */
Test(emit_reduction, the_maximum_of_a_held_row_notes_nan_apart)
{
    struct reduction_case softmax = norm;
    softmax.content = REDUCTION_SOFTMAX;
    struct emitted emitted = emit("gfx942", &softmax);
    EXPECT_TEXT(emitted, "bool nan;");
    EXPECT_TEXT(emitted, "lanes.a0.nan = false;");
    EXPECT_TEXT(emitted, "kiln_note_nan_f32(operand, lanes.a0.nan);");
    EXPECT_TEXT(emitted, "lanes.a0.value[e] = kiln_max_number_f32(lanes.a0.value[e], operand);");
    EXPECT_TEXT(emitted, "merged.a0.value[e] = kiln_extreme_f32(lanes.a0.value[e], lanes.a0.nan);");
    /* Between lanes it is kept: there each has one number. */
    EXPECT_TEXT(emitted, "KILN_ACCUMULATOR(max, f32, float)\n");
    EXPECT_TEXT(emitted, "kiln_max_lanes_f32<1> a0;");
    /* Which zero is the larger one does not depend on the order there. */
    EXPECT_TEXT(emitted, "kiln_exchange<0, 1>(mask, is_second, first.a0, second.a0);");
    ir_fixture_destroy(emitted.fixture);
    emitted = emit("sm_90", &softmax);
    EXPECT_TEXT(emitted, "kiln_exchange<1, 1>(mask, is_second, first.a0, second.a0);");
    ir_fixture_destroy(emitted.fixture);
    struct reduction_case columns = softmax;
    columns.reduced_axes = 1;
    emitted = emit("gfx942", &columns);
    EXPECT_NO_TEXT(emitted, "bool nan;");
    EXPECT_TEXT(emitted, "lanes.a0.value[e] = kiln_max_f32(lanes.a0.value[e], operand);");
    ir_fixture_destroy(emitted.fixture);
}

/* The compiler's division would be a quarter of the arithmetic of a step. */
Test(emit_reduction, reciprocals_of_counts_are_no_divisions)
{
    struct emitted emitted = emit("gfx942", &norm);
    EXPECT_TEXT(emitted, "const float reciprocal_f32 = kiln_count_ratio_f32(1, (float)(nth + 1));");
    EXPECT_NO_TEXT(emitted, "(float)1 / ");
    ir_fixture_destroy(emitted.fixture);
}

/* NVRTC has no infinity for a constant of the whole text. */
Test(emit_reduction, constants_stand_where_they_are_used)
{
    struct emitted emitted = {.fixture = reduction_fixture_create("gfx90a")};
    struct ir_fixture *fixture = emitted.fixture;
    const int64_t row[2] = {64, 1};
    uint32_t x = ir_fixture_load(fixture, 64, 1024);
    uint32_t limited =
        kiln_ir_binary(&fixture->ir, KILN_OP_MIN, x,
                       kiln_ir_real(&fixture->ir, KILN_SCALAR_F32, (double)INFINITY));
    ir_fixture_store(fixture, kiln_ir_reduce(&fixture->ir, KILN_OP_REDUCE_SUM, limited,
                                             kiln_ir_domain(&fixture->ir, row, 2)));
    emitted.group = ir_fixture_partition(fixture).groups[0];
    emitted.schedule = reduction_fixture_schedule(fixture, &emitted.group);
    emit_scheduled(&emitted);
    cr_assert_eq(emitted.group.family, KILN_FAMILY_REDUCTION);
    EXPECT_TEXT(emitted, ", __builtin_inff());");
    EXPECT_NO_TEXT(emitted, "= __builtin_inff();");
    ir_fixture_destroy(fixture);
}

Test(emit_reduction, what_only_the_last_pass_needs_is_loaded_in_it)
{
    struct emitted emitted = emit("gfx90a", &norm);
    const char *second = strstr(emitted.kernel.source, "struct kiln_pass_1 {");
    const char *scale = strstr(emitted.kernel.source, "inputs.x1, arguments.a1");
    cr_assert(second != NULL && scale != NULL && scale > second);
    cr_assert_eq(count(&emitted, "inputs.x1, arguments.a1"), 1);
    ir_fixture_destroy(emitted.fixture);
}

Test(emit_reduction, a_row_that_is_not_held_is_loaded_in_every_pass)
{
    struct emitted emitted = emit("host", &norm);
    EXPECT_TEXT(emitted, "#define KILN_IS_RESIDENT 0\n");
    cr_assert_eq(count(&emitted, "inputs.x0, arguments.a0"), 2);
    cr_assert_not(emitted.kernel.uses_barrier, "one work-item has the whole row");
    ir_fixture_destroy(emitted.fixture);
}

Test(emit_reduction, elements_outside_of_vectors_have_functions_of_their_own)
{
    struct reduction_case odd = norm;
    odd.dims[1] = 4099;
    struct emitted emitted = emit("gfx90a", &odd);
    emitted.schedule.walk.vector_elems = 8;
    emit_scheduled(&emitted);
    EXPECT_TEXT(emitted, "#define KILN_STEPS 512u\n");
    EXPECT_TEXT(emitted, "#define KILN_TAILS 3u\n");
    EXPECT_TEXT(emitted, "struct kiln_inputs_element {");
    EXPECT_TEXT(emitted, "void update_element(");
    EXPECT_TEXT(emitted, "kiln_merge<0>(second.a0, first.a0);");
    ir_fixture_destroy(emitted.fixture);
}

Test(emit_reduction, long_rows_are_accumulated_in_chains)
{
    struct reduction_case row = norm;
    struct emitted few = emit("host", &row);
    EXPECT_TEXT(few, "#define KILN_CHAINS 1u\n");
    ir_fixture_destroy(few.fixture);
    row.dims[0] = 4;
    row.dims[1] = 4 << 20;
    struct emitted moments = emit("host", &row);
    EXPECT_TEXT(moments, "#define KILN_CHAINS 1u\n");
    EXPECT_TEXT(moments, "            double mean[");
    EXPECT_TEXT(moments, "kiln_moments_update_f64(");
    ir_fixture_destroy(moments.fixture);
    row.content = REDUCTION_SUM;
    struct emitted many = emit("host", &row);
    uint64_t steps = kiln_reduction_schedule_of(&many.schedule)->step_count;
    cr_assert_gt(steps, 4096);
    char text[64];
    (void)snprintf(text, sizeof text, "#define KILN_CHAINS %uu\n", (unsigned)(steps / 1024));
    EXPECT_TEXT(many, text);
    EXPECT_TEXT(many, "#define KILN_CHAIN_STEPS 1024u\n");
    EXPECT_TEXT(many, "kiln_merge<0>(second.a0, first.a0);");
    ir_fixture_destroy(many.fixture);
}

Test(emit_reduction, counts_that_are_equal_are_not_exchanged)
{
    struct emitted emitted = emit("gfx90a", &norm);
    EXPECT_TEXT(emitted, "kiln_exchange<0, 1>(mask, is_second, first.a0, second.a0);");
    EXPECT_TEXT(emitted, "kiln_merge<1>(second.a0, first.a0);");
    ir_fixture_destroy(emitted.fixture);
}

Test(emit_reduction, the_last_vector_of_rows_is_moved_back)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {512, 1023},
                                 .reduced_axes = 1,
                                 .dtype = KILN_DTYPE_F32};
    struct emitted emitted = emit("gfx90a", &sum);
    emitted.schedule.walk.vector_elems = 4;
    emit_scheduled(&emitted);
    EXPECT_TEXT(emitted, "#define KILN_IS_COLUMNS 1\n");
    EXPECT_TEXT(emitted, "position.column = (kiln_index)1019;");
    EXPECT_TEXT(emitted, "KILN_LOAD_STREAM(16, inputs.x0, ");
    ir_fixture_destroy(emitted.fixture);
    /* CUDA traps where that is not aligned. */
    struct emitted cuda = emit("sm_90", &sum);
    cr_assert_gt(cuda.schedule.walk.vector_elems, 1);
    EXPECT_TEXT(cuda, "if (position.column > (kiln_index)");
    EXPECT_TEXT(cuda, "KILN_LOAD_UNALIGNED(16, inputs.x0, ");
    EXPECT_TEXT(cuda, "kiln_load_unaligned(void *to"); /* the header is included */
    ir_fixture_destroy(cuda.fixture);
}

Test(emit_reduction, elements_of_a_vector_that_was_moved_back_are_accumulated_once)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {100000, 1021},
                                 .reduced_axes = 2,
                                 .dtype = KILN_DTYPE_F32};
    struct emitted emitted = emit("gfx90a", &sum);
    EXPECT_TEXT(emitted, "#define KILN_STEPS 256u\n");
    EXPECT_TEXT(emitted, "#define KILN_HAS_TAILS 0\n");
    EXPECT_TEXT(emitted, "position.is_moved = position.column > 1017u;\n");
    EXPECT_TEXT(emitted, "position.column -= position.is_moved ? 3u : 0u;\n");
    EXPECT_TEXT(emitted, "const float operand = e < 3 && position.is_moved ? 0 : ");
    ir_fixture_destroy(emitted.fixture);
    sum.content = REDUCTION_STATISTICS;
    struct emitted moments = emit("gfx90a", &sum);
    EXPECT_TEXT(moments, "const bool is_new = e >= 3 || !position.is_moved;\n");
    EXPECT_TEXT(moments, "lanes.a0.count[e] += is_new ? 1 : 0;\n");
    EXPECT_TEXT(moments, "kiln_exchange<1, 0>(mask"); /* counts differ between work-items */
    ir_fixture_destroy(moments.fixture);
}

/* Those of a CPU would fetch whole pages for a vector of each. */
Test(emit_reduction, segments_take_turns_on_a_gpu_and_have_stretches_on_a_cpu)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .role = KILN_ROLE_PARTIAL,
                                 .rank = 2,
                                 .dims = {1, 1 << 20},
                                 .reduced_axes = 2,
                                 .dtype = KILN_DTYPE_F32,
                                 .segment_count = 16};
    struct emitted gpu = emit("gfx90a", &sum);
    uint32_t items = kiln_reduction_schedule_of(&gpu.schedule)->items_along_reduced;
    char expected[64];
    (void)snprintf(expected, sizeof expected, "#define KILN_STRIDE %uu\n", 16 * items);
    EXPECT_TEXT(gpu, expected);
    (void)snprintf(expected, sizeof expected, "#define KILN_SEGMENT_STEPS %uu\n", items);
    EXPECT_TEXT(gpu, expected);
    EXPECT_TEXT(gpu, "#define KILN_SEGMENTS_TAKE_TURNS 1\n");
    ir_fixture_destroy(gpu.fixture);
    struct emitted cpu = emit("host", &sum);
    EXPECT_TEXT(cpu, "#define KILN_STRIDE 1u\n");
    (void)snprintf(expected, sizeof expected, "#define KILN_SEGMENT_STEPS %uu\n",
                   (1u << 16) / cpu.schedule.walk.vector_elems);
    EXPECT_TEXT(cpu, expected);
    EXPECT_TEXT(cpu, "#define KILN_SEGMENTS_TAKE_TURNS 0\n");
    ir_fixture_destroy(cpu.fixture);
}

Test(emit_reduction, segments_store_components_and_are_merged_from_them)
{
    struct reduction_case statistics = {.content = REDUCTION_STATISTICS,
                                        .role = KILN_ROLE_PARTIAL,
                                        .rank = 2,
                                        .dims = {4, 1 << 20},
                                        .reduced_axes = 2,
                                        .dtype = KILN_DTYPE_F32,
                                        .segment_count = 64};
    struct emitted partial = emit("gfx90a", &statistics);
    EXPECT_TEXT(partial, "#define KILN_SEGMENTS 64u\n");
    EXPECT_TEXT(partial, "position.segment * (kiln_index)4] = y3[0];");
    EXPECT_TEXT(partial, "= kiln_encode_f32(merged.a0.count);");
    ir_fixture_destroy(partial.fixture);
    statistics.role = KILN_ROLE_COMBINE;
    struct emitted combine = emit("gfx90a", &statistics);
    EXPECT_TEXT(combine, "#define KILN_IS_SEGMENTED 0\n");
    EXPECT_TEXT(combine, "const float count0 = kiln_decode_f32(inputs.x0[");
    EXPECT_TEXT(combine, "kiln_moments_merge_f32(lanes.a0.count");
    EXPECT_NO_TEXT(combine, "kiln_moments_update_f32(v");
    ir_fixture_destroy(combine.fixture);
}

/* How many segments, and how many columns, also where vectors do not divide them. */
Test(emit_reduction, a_combine_of_other_sizes_is_the_same_kernel)
{
    static const struct {
        uint32_t segments;
        int64_t columns;
    } sizes[] = {{64, 4096}, {16, 4096}, {24, 5000}, {12, 2050}, {200, 256}, {6272, 64}};
    char symbols[6][64];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct reduction_case sum = {.content = REDUCTION_SUM,
                                     .role = KILN_ROLE_COMBINE,
                                     .rank = 2,
                                     .dims = {1 << 16, sizes[i].columns},
                                     .reduced_axes = 1,
                                     .dtype = KILN_DTYPE_F16,
                                     .segment_count = sizes[i].segments};
        struct emitted combine = emit("gfx942", &sum);
        (void)snprintf(symbols[i], sizeof symbols[i], "%s", combine.kernel.symbol);
        EXPECT_TEXT(combine, "#define KILN_SIZES_ARE_ARGUMENTS 1\n");
        cr_assert_gt(combine.kernel.argument_count, combine.group.access_count);
        ir_fixture_destroy(combine.fixture);
    }
    for (size_t i = 1; i < 4; i++)
        cr_assert_str_eq(symbols[i], symbols[0], "%zu", i);
    cr_assert_str_neq(symbols[4], symbols[5],
                      "few columns of many segments are a kernel of their own");
}

/* Neighbouring strips share lines of caches. Sums of columns store no strips. */
Test(emit_reduction, strips_that_are_stored_follow_each_other_in_a_cache)
{
    struct reduction_case columns = norm;
    columns.content = REDUCTION_SOFTMAX;
    columns.reduced_axes = 1;
    struct emitted emitted = emit("gfx942", &columns);
    EXPECT_TEXT(emitted, "#define KILN_CHUNK(turn) kiln_chunk_of_cache<");
    EXPECT_TEXT(emitted, "#line 1 \"device/chunk_of_cache.h\"");
    ir_fixture_destroy(emitted.fixture);
    emitted = emit("gfx90a", &columns);
    EXPECT_TEXT(emitted, "#define KILN_CHUNK(turn) (turn)");
    ir_fixture_destroy(emitted.fixture);
    columns.content = REDUCTION_SUM;
    emitted = emit("gfx942", &columns);
    EXPECT_TEXT(emitted, "#define KILN_CHUNK(turn) (turn)");
    ir_fixture_destroy(emitted.fixture);
    emitted = emit("gfx942", &norm);
    EXPECT_TEXT(emitted, "#define KILN_CHUNK(turn) (turn)");
    ir_fixture_destroy(emitted.fixture);
}

Test(emit_reduction, local_memory_is_what_a_structure_of_the_accumulators_takes)
{
    struct kiln_accumulator accumulators[] = {
        {.kind = KILN_ACCUMULATOR_SUM, .scalar = KILN_SCALAR_I32},
        {.kind = KILN_ACCUMULATOR_MOMENTS, .scalar = KILN_SCALAR_F64},
        {.kind = KILN_ACCUMULATOR_MAX, .scalar = KILN_SCALAR_F32, .pass = 1},
    };
    struct kiln_reduction_passes passes = {
        .pass_count = 2, .accumulator_count = 3, .accumulators = accumulators};
    struct kiln_reduction_schedule rows = {.items_along_reduced = 256, .items_along_kept = 1};
    /* Four waves. */
    cr_expect_eq(kiln_reduction_lds_bytes(&passes, &rows, 8, 64), 4 * 4 + 3 * 4 * 8);
    rows.items_along_reduced = 32;
    cr_expect_eq(kiln_reduction_lds_bytes(&passes, &rows, 8, 64), 0);
    struct kiln_reduction_schedule columns = {
        .form = KILN_REDUCTION_COLUMNS, .items_along_reduced = 16, .items_along_kept = 16};
    /* A wave has four work-items of a column, so four waves meet, two and two; each has two rows.
     */
    cr_expect_eq(kiln_reduction_lds_entries(&columns, 64), 2 * 16);
    cr_expect_eq(kiln_reduction_lds_bytes(&passes, &columns, 2, 64), 32 * (2 * 4 + 8 + 2 * 2 * 8));
    columns.items_along_kept = 64;
    cr_expect_eq(kiln_reduction_waves_per_row(&columns, 64), 16);
    columns.items_along_reduced = 1;
    cr_expect_eq(kiln_reduction_lds_bytes(&passes, &columns, 2, 64), 0);
}
