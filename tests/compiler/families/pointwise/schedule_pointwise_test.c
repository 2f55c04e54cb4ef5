#include "compiler/schedule/schedule.h"

#include "compiler/families/pointwise/pointwise_schedule.h"
#include "compiler/schedule/schedule_group.h"
#include "tests/compiler/fuse/ir_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_schedule schedule(struct ir_fixture *fixture)
{
    struct kiln_partition partition = ir_fixture_partition(fixture);
    cr_assert_eq(partition.group_count, 1);
    struct kiln_schedule result;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_schedule_group(&fixture->ir, &fixture->graph, &partition.groups[0],
                                     &fixture->target, &fixture->options, &result, &error),
                 KILN_OK);
    return result;
}

static uint32_t load_with_strides(struct ir_fixture *fixture, int64_t rows, int64_t cols,
                                  int64_t row_stride, int64_t col_stride)
{
    uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, rows, cols);
    fixture->tensors[tensor].strides[0] = row_stride;
    fixture->tensors[tensor].strides[1] = col_stride;
    return kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
}

static void add_and_store(struct ir_fixture *fixture, uint32_t a, uint32_t b)
{
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, a, b));
}

Test(schedule, packed_tensors_collapse_to_one_axis_of_vectors)
{
    struct ir_fixture *fixture = ir_fixture_create();
    add_and_store(fixture, ir_fixture_load(fixture, 30, 50), ir_fixture_load(fixture, 30, 50));
    struct kiln_schedule result = schedule(fixture);
    cr_assert_str_eq(result.template_name, "pointwise");
    cr_assert_eq(result.walk.rank, 1);
    cr_assert_eq(result.walk.dims[0], 1500);
    cr_assert_eq(result.walk.vector_elems, 4);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(result.accesses[i].mode, KILN_ACCESS_VECTOR);
    cr_assert_not(result.walk.index_is_64bit);
    ir_fixture_destroy(fixture);
}

Test(schedule, half_takes_eight_elements)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 64, 64);
    for (uint32_t i = 0; i < fixture->graph.tensor_count; i++)
        fixture->tensors[i].dtype = KILN_DTYPE_F16;
    uint32_t out = ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    fixture->tensors[out].dtype = KILN_DTYPE_F16;
    cr_assert_eq(schedule(fixture).walk.vector_elems, 8);
    ir_fixture_destroy(fixture);
}

Test(schedule, parameters_in_float_leave_no_gaps_between_neighbouring_work_items_on_amd_gpus)
{
    static const struct {
        const char *target;
        uint32_t vector_elems;
    } cases[] = {{"gfx942", 4}, {"gfx1100", 4}, {"sm_90", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ir_fixture *fixture = ir_fixture_create();
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(kiln_target_parse(cases[i].target, &fixture->target, &error), KILN_OK, "%s",
                     error.text);
        uint32_t x = ir_fixture_load(fixture, 4096, 256);
        uint32_t row = ir_fixture_load(fixture, 1, 256);
        uint32_t domain = ir_fixture_domain(fixture, 4096, 256);
        uint32_t y = kiln_ir_binary(&fixture->ir, KILN_OP_MUL, x,
                                    kiln_ir_broadcast(&fixture->ir, row, domain));
        uint32_t out = ir_fixture_store(fixture, y);
        fixture->tensors[0].dtype = fixture->tensors[out].dtype = KILN_DTYPE_F16;
        cr_expect_eq(schedule(fixture).walk.vector_elems, cases[i].vector_elems, "%s",
                     cases[i].target);
        ir_fixture_destroy(fixture);
    }
}

Test(schedule, a_row_broadcast_is_read_as_vectors_and_a_column_broadcast_once)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 32, 64);
    uint32_t domain = ir_fixture_domain(fixture, 32, 64);
    uint32_t row = kiln_ir_broadcast(&fixture->ir, ir_fixture_load(fixture, 1, 64), domain);
    uint32_t column = kiln_ir_broadcast(&fixture->ir, ir_fixture_load(fixture, 32, 1), domain);
    add_and_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_MUL, x, row), column);
    struct kiln_schedule result = schedule(fixture);
    cr_assert_eq(result.walk.rank, 2);
    cr_assert_eq(result.accesses[0].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(result.accesses[1].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(result.accesses[2].mode, KILN_ACCESS_SPLAT);
    ir_fixture_destroy(fixture);
}

/* x [rows, cols] plus so many rows that are the same for all, in half. The fixture owns the
 * schedule's accesses. */
static struct kiln_schedule schedule_shared_rows(struct ir_fixture *fixture, const char *target,
                                                 int64_t rows, int64_t cols, int count)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(target, &fixture->target, &error), KILN_OK, "%s", error.text);
    uint32_t value = ir_fixture_load(fixture, rows, cols);
    for (int i = 0; i < count; i++) {
        uint32_t row = kiln_ir_broadcast(&fixture->ir, ir_fixture_load(fixture, 1, cols),
                                         ir_fixture_domain(fixture, rows, cols));
        value = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, value, row);
    }
    ir_fixture_store(fixture, value);
    for (uint32_t i = 0; i < fixture->graph.tensor_count; i++)
        fixture->tensors[i].dtype = KILN_DTYPE_F16;
    return schedule(fixture);
}

static enum kiln_walk_form form_of_shared_rows(const char *target, int64_t rows, int64_t cols,
                                               int count)
{
    struct ir_fixture *fixture = ir_fixture_create();
    enum kiln_walk_form form = schedule_shared_rows(fixture, target, rows, cols, count).walk.form;
    ir_fixture_destroy(fixture);
    return form;
}

Test(schedule, rows_that_no_vector_divides_keep_their_vectors_on_amd_gpus)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_schedule result = schedule_shared_rows(fixture, "gfx942", 40, 1023, 1);
    cr_assert(result.walk.form == KILN_WALK_LINES);
    cr_assert_eq(result.walk.vector_elems, 8);
    cr_assert_eq(result.walk.moved_elems, 1, "the last vector shares an element");
    cr_assert_not(kiln_schedule_has_tails(&result));
    for (int i = 0; i < 3; i++)
        cr_assert_eq(result.accesses[i].mode, KILN_ACCESS_VECTOR);
    cr_assert(form_of_shared_rows("gfx942", 4000, 5, 1) == KILN_WALK_FLATTENED,
              "no vector fits into a row");
    ir_fixture_destroy(fixture);
}

Test(schedule, packed_rows_that_no_vector_divides_are_one_line)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse("gfx942", &fixture->target, &error), KILN_OK, "%s", error.text);
    uint32_t x = ir_fixture_load(fixture, 40, 1022);
    fixture->tensors[0].dtype = KILN_DTYPE_F4E2M1;
    uint32_t column = kiln_ir_broadcast(&fixture->ir, ir_fixture_load(fixture, 40, 1),
                                        ir_fixture_domain(fixture, 40, 1022));
    add_and_store(fixture, x, column);
    struct kiln_schedule result = schedule(fixture);
    cr_assert(result.walk.form == KILN_WALK_FLATTENED);
    cr_assert_eq(result.walk.moved_elems, 0, "a moved vector may start within a byte");
    cr_assert_eq(result.accesses[0].mode, KILN_ACCESS_VECTOR);
    ir_fixture_destroy(fixture);
}

Test(schedule, rows_that_no_vector_divides_are_one_line_on_cuda_unless_they_share_much)
{
    struct ir_fixture *few = ir_fixture_create(), *many = ir_fixture_create();
    struct kiln_schedule result = schedule_shared_rows(few, "sm_90", 40, 1023, 1);
    cr_assert(result.walk.form == KILN_WALK_FLATTENED);
    cr_assert_eq(result.walk.cols, 40 * 1023);
    cr_assert_eq(result.accesses[0].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(result.accesses[1].mode, KILN_ACCESS_GATHER);
    cr_assert(form_of_shared_rows("sm_90", 4000, 127, 3) == KILN_WALK_FLATTENED);
    result = schedule_shared_rows(many, "sm_90", 40, 1023, 3);
    cr_assert(result.walk.form == KILN_WALK_LINES);
    cr_assert_eq(result.walk.moved_elems, 1);
    cr_assert_eq(result.accesses[0].alignment_bytes, 2, "vectors start anywhere");
    ir_fixture_destroy(few);
    ir_fixture_destroy(many);
}

Test(schedule, a_transposed_operand_goes_through_a_tile)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t straight = ir_fixture_load(fixture, 100, 200);
    uint32_t transposed = load_with_strides(fixture, 100, 200, 1, 100);
    add_and_store(fixture, straight, transposed);
    struct kiln_schedule result = schedule(fixture);
    cr_assert_str_eq(result.template_name, "pointwise_tiled");
    cr_assert_eq(result.accesses[0].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(result.accesses[1].mode, KILN_ACCESS_TRANSPOSED);
    cr_assert_eq(result.accesses[2].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(result.walk.tile_elems, 32);
    cr_assert_eq(result.launch.block, 64);
    cr_assert_eq(kiln_pointwise_schedule_of(&result)->vectors_per_item, 4,
                 "all of the tile that a work-item does");
    cr_assert_eq(result.launch.lds_bytes, 32 * 32 * 4);
    cr_assert_eq(result.launch.chunk_count, 4 * 7);
    struct kiln_partition partition = ir_fixture_partition(fixture);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_schedule_print_accesses(&result, &fixture->ir, &fixture->graph, &partition.groups[0],
                                 &text);
    cr_expect(strstr(kiln_buffer_text(&text), ": transposed\n"), "%s", kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    ir_fixture_destroy(fixture);
}

static struct kiln_schedule schedule_transposing(const char *target, enum kiln_dtype dtype,
                                                 int64_t rows, int64_t columns)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(target, &fixture->target, &error), KILN_OK, "%s", error.text);
    uint32_t straight = load_with_strides(fixture, rows, columns, columns, 1);
    uint32_t transposed = load_with_strides(fixture, rows, columns, 1, rows);
    add_and_store(fixture, straight, transposed);
    for (uint32_t i = 0; i < fixture->graph.tensor_count; i++)
        fixture->tensors[i].dtype = dtype;
    struct kiln_schedule result = schedule(fixture);
    ir_fixture_destroy(fixture);
    return result;
}

Test(schedule, large_tiles_leave_no_compute_unit_without_work)
{
    struct kiln_schedule large = schedule_transposing("gfx942", KILN_DTYPE_F32, 8192, 8192);
    cr_assert_str_eq(large.template_name, "pointwise_tiled");
    cr_assert_eq(large.walk.tile_elems, 64);
    cr_assert_eq(large.launch.block, 256);
    struct kiln_schedule small = schedule_transposing("gfx942", KILN_DTYPE_F32, 1024, 1024);
    cr_assert_eq(small.walk.tile_elems, 32);
    cr_assert_geq(small.launch.grid, 304, "256 groups leave 48 of 304 compute units idle");
    cr_assert_eq(schedule_transposing("gfx1103", KILN_DTYPE_F32, 1024, 1024).walk.tile_elems, 64);
}

Test(schedule, a_tile_is_not_much_longer_than_what_it_transposes)
{
    struct kiln_schedule narrow = schedule_transposing("gfx942", KILN_DTYPE_U8, 65536, 20);
    cr_assert_eq(narrow.walk.tile_elems, 32);
    cr_assert_eq(narrow.walk.vector_elems, 4);
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_U8, 65536, 100).walk.tile_elems, 64);
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F64, 4096, 4096).walk.vector_elems, 2);
}

Test(schedule, tiles_are_whole_since_the_last_one_is_moved_back)
{
    struct kiln_schedule odd = schedule_transposing("gfx942", KILN_DTYPE_F16, 4097, 1023);
    cr_assert_str_eq(odd.template_name, "pointwise_tiled");
    cr_assert(kiln_tiles_are_whole(&odd, 0) && kiln_tiles_are_whole(&odd, 1));
    cr_assert_not(kiln_schedule_has_tails(&odd));
    /* Two tiles of 128 would cover 167 lines with 256. */
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 167, 100003).walk.tile_elems, 64);
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 100003, 129).walk.tile_elems, 64,
                 "256 columns of 128 tiles");
    struct kiln_schedule narrow = schedule_transposing("gfx942", KILN_DTYPE_F16, 65536, 17);
    cr_assert(kiln_schedule_has_tails(&narrow), "no tile is that short");
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 65536, 63).walk.tile_elems, 32);
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 65536, 40).walk.tile_elems, 64,
                 "whole vectors");
}

Test(schedule, tiles_that_would_compute_much_again_are_shorter)
{
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 65, 65).walk.tile_elems, 32);
    cr_assert_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 65, 64).walk.tile_elems, 64);
}

Test(schedule, few_odd_columns_are_gathered_on_cuda)
{
    cr_assert_str_eq(schedule_transposing("sm_90", KILN_DTYPE_F16, 65536, 17).template_name,
                     "pointwise");
    cr_assert_str_eq(schedule_transposing("gfx942", KILN_DTYPE_F16, 65536, 17).template_name,
                     "pointwise_tiled");
    cr_assert_str_eq(schedule_transposing("sm_90", KILN_DTYPE_F16, 17, 65536).template_name,
                     "pointwise_tiled", "few lines are not");
}

Test(schedule, a_transposing_launch_stays_below_what_hip_can_count)
{
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "sm_90"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct kiln_schedule huge =
            schedule_transposing(targets[i], KILN_DTYPE_F32, INT64_C(1) << 20, INT64_C(1) << 20);
        cr_expect_leq((uint64_t)huge.launch.grid * huge.launch.block, UINT32_MAX, "%s", targets[i]);
        cr_expect(huge.walk.index_is_64bit);
    }
}

Test(schedule, a_short_transposed_operand_is_gathered)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t straight = ir_fixture_load(fixture, 8, 200);
    uint32_t transposed = load_with_strides(fixture, 8, 200, 1, 8);
    add_and_store(fixture, straight, transposed);
    struct kiln_schedule result = schedule(fixture);
    cr_assert_str_eq(result.template_name, "pointwise");
    cr_assert_eq(result.accesses[1].mode, KILN_ACCESS_GATHER);
    ir_fixture_destroy(fixture);
}

Test(schedule, when_everything_is_transposed_nothing_is)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = load_with_strides(fixture, 100, 200, 1, 100);
    uint32_t out = ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    fixture->tensors[out].strides[0] = 1;
    fixture->tensors[out].strides[1] = 100;
    struct kiln_schedule result = schedule(fixture);
    cr_assert_str_eq(result.template_name, "pointwise");
    cr_assert_eq(result.walk.rank, 1);
    ir_fixture_destroy(fixture);
}

Test(schedule, padded_rows_keep_their_own_tail)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = load_with_strides(fixture, 10, 30, 48, 1);
    uint32_t out = ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    fixture->tensors[out].strides[0] = 48;
    struct kiln_schedule result = schedule(fixture);
    cr_assert_eq(result.walk.rank, 2);
    cr_assert_not(result.walk.form == KILN_WALK_FLATTENED);
    cr_assert_eq(result.walk.rows, 10);
    cr_assert_eq(result.walk.cols, 30);
    ir_fixture_destroy(fixture);
}

Test(schedule, large_tensors_use_64_bit_indices)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 1 << 16, 1 << 16);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    struct kiln_schedule result = schedule(fixture);
    cr_assert(result.walk.index_is_64bit);
    cr_assert_leq((uint64_t)result.launch.grid * result.launch.block, UINT32_MAX);
    ir_fixture_destroy(fixture);
}

Test(schedule, large_strides_over_few_elements_use_64_bit_indices_too)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = load_with_strides(fixture, 3, 4, 1500000000, 1);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    cr_assert(schedule(fixture).walk.index_is_64bit);
    ir_fixture_destroy(fixture);
}

Test(schedule, vectors_shrink_for_expensive_expressions)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 64, 64);
    for (int i = 0; i < 200; i++)
        x = kiln_ir_unary(&fixture->ir, KILN_OP_TANH, x);
    ir_fixture_store(fixture, x);
    cr_assert_eq(schedule(fixture).walk.vector_elems, 1);
    ir_fixture_destroy(fixture);
}

Test(schedule, an_axis_that_is_counted_along_stays_alone)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t domain = ir_fixture_domain(fixture, 6, 16);
    uint32_t index = kiln_ir_index(&fixture->ir, KILN_SCALAR_I32, domain, 0);
    uint32_t value = kiln_ir_convert(&fixture->ir, index, KILN_SCALAR_F32);
    add_and_store(fixture, value, ir_fixture_load(fixture, 6, 16));
    struct kiln_schedule result = schedule(fixture);
    cr_assert_eq(result.walk.rank, 2);
    cr_assert_eq(result.walk.domain_axis[0], 0);
    ir_fixture_destroy(fixture);
}

static uint32_t vectors_per_item(const char *target, enum kiln_opcode opcode, int64_t rows)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(target, &fixture->target, &error), KILN_OK);
    uint32_t x = ir_fixture_load(fixture, rows, 4096);
    for (int i = 0; i < 4; i++)
        x = kiln_ir_unary(&fixture->ir, opcode, x);
    ir_fixture_store(fixture, x);
    struct kiln_schedule scheduled = schedule(fixture);
    uint32_t result = kiln_pointwise_schedule_of(&scheduled)->vectors_per_item;
    ir_fixture_destroy(fixture);
    return result;
}

Test(schedule, how_much_a_work_item_takes_depends_on_the_target_and_the_arithmetic)
{
    cr_assert_eq(vectors_per_item("gfx942", KILN_OP_NEG, 4096), 4);
    cr_assert_eq(vectors_per_item("sm_90", KILN_OP_NEG, 4096), 1);
    cr_assert_eq(vectors_per_item("sm_90", KILN_OP_TANH, 4096), 2);
    cr_assert_eq(vectors_per_item("sm_90", KILN_OP_TANH, 64), 1, "too few work-groups to share");
}

/* Parameters of a channels-last tensor: their loads are what a second vector saves. */
Test(schedule, vectors_that_share_small_operands_are_taken_together)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse("sm_90", &fixture->target, &error), KILN_OK);
    uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, 1 << 16, 256);
    fixture->tensors[tensor].dtype = KILN_DTYPE_F16;
    uint32_t x = kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
    uint32_t domain = ir_fixture_domain(fixture, 1 << 16, 256);
    for (int i = 0; i < 4; i++) {
        uint32_t parameter = ir_fixture_load(fixture, 1, 256);
        x = kiln_ir_binary(&fixture->ir, KILN_OP_MUL, x,
                           kiln_ir_broadcast(&fixture->ir, parameter, domain));
    }
    ir_fixture_store(fixture, x);
    struct kiln_schedule result = schedule(fixture);
    cr_assert_eq(kiln_pointwise_schedule_of(&result)->vectors_per_item, 2);
    cr_assert(result.accesses[0].is_streamed);
    cr_assert_not(result.accesses[1].is_streamed, "every row reads the parameters again");
    ir_fixture_destroy(fixture);
}
