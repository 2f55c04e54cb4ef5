/*
 * The forms of a schedule, from the fastest to the one that needs the fewest registers.
 */
#include "compiler/families/pointwise/pointwise_schedule.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/schedule_group.h"

#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FORM_LIMIT = KILN_MAX_FORMS };

/* All forms; returns how many there are. */
static uint32_t schedule_forms(struct ir_fixture *fixture, const struct kiln_fusion_group *group,
                               struct kiln_schedule *forms)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_schedule_group(&fixture->ir, &fixture->graph, group, &fixture->target,
                                     &fixture->options, &forms[0], &error),
                 KILN_OK, "%s", error.text);
    for (uint32_t count = 1; count < FORM_LIMIT; count++) {
        enum kiln_status status =
            kiln_schedule_relax(&fixture->ir, &fixture->graph, group, &fixture->target,
                                &forms[count - 1], &forms[count], &error);
        if (status == KILN_NOT_FOUND) {
            cr_expect_str_empty(error.text);
            return count;
        }
        cr_assert_eq(status, KILN_OK, "%s", error.text);
        cr_assert_eq(forms[count].form, count);
    }
    cr_assert_fail("more than %d forms", FORM_LIMIT);
    return 0;
}

static uint64_t held_elements(const struct kiln_schedule *schedule)
{
    return kiln_reduction_is_held(kiln_reduction_schedule_of(schedule))
               ? (uint64_t)kiln_reduction_schedule_of(schedule)->steps_per_item *
                     schedule->walk.vector_elems
               : 0;
}

Test(schedule_forms, a_row_is_held_by_more_work_items_then_read_again_then_in_shorter_vectors)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {512, 40000},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    struct ir_fixture *fixture = reduction_fixture_create("gfx1030");
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &softmax);
    struct kiln_schedule forms[FORM_LIMIT];
    uint32_t count = schedule_forms(fixture, &group, forms);
    cr_assert_eq(forms[0].launch.block, 512);
    cr_assert_eq(held_elements(&forms[0]), 20 * 4);
    cr_assert_eq(forms[1].launch.block, 1024);
    cr_assert_eq(held_elements(&forms[1]), 10 * 4);
    cr_assert_eq(forms[1].traffic.bytes_moved, forms[0].traffic.bytes_moved);
    cr_assert_eq(held_elements(&forms[2]), 0);
    cr_assert_eq(forms[2].walk.vector_elems, 4);
    cr_assert_gt(forms[2].traffic.bytes_moved, forms[0].traffic.bytes_moved);
    for (uint32_t i = 3; i < count; i++) {
        cr_assert_eq(held_elements(&forms[i]), 0);
        cr_assert_leq(forms[i].walk.vector_elems, forms[i - 1].walk.vector_elems);
        cr_assert_leq(kiln_reduction_schedule_of(&forms[i])->steps_per_item,
                      kiln_reduction_schedule_of(&forms[i - 1])->steps_per_item);
    }
    cr_assert_eq(forms[count - 1].walk.vector_elems, 1);
    cr_assert_eq(kiln_reduction_schedule_of(&forms[count - 1])->steps_per_item, 1);
    ir_fixture_destroy(fixture);
}

Test(schedule_forms, no_two_neighbours_are_the_same_kernel)
{
    static const int64_t lengths[] = {1, 2, 63, 1000, 4099, 40000, 300000};
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths * REDUCTION_CONTENT_COUNT; i++) {
        struct reduction_case reduction = {
            .content = (enum reduction_content)(i % REDUCTION_CONTENT_COUNT),
            .rank = 2,
            .dims = {300, 1 + lengths[i / REDUCTION_CONTENT_COUNT]},
            .reduced_axes = i % 2 == 0 ? 2 : 1,
            .dtype = i % 3 == 0 ? KILN_DTYPE_F16 : KILN_DTYPE_F32};
        struct ir_fixture *fixture =
            reduction_fixture_create(targets[i % (sizeof targets / sizeof *targets)]);
        struct kiln_fusion_group group = reduction_fixture_group(fixture, &reduction);
        struct kiln_schedule forms[FORM_LIMIT];
        uint32_t count = schedule_forms(fixture, &group, forms);
        for (uint32_t k = 1; k < count; k++)
            cr_expect(forms[k].walk.vector_elems != forms[k - 1].walk.vector_elems ||
                      forms[k].launch.block != forms[k - 1].launch.block ||
                      kiln_reduction_schedule_of(&forms[k])->steps_per_item !=
                          kiln_reduction_schedule_of(&forms[k - 1])->steps_per_item ||
                      kiln_reduction_is_held(kiln_reduction_schedule_of(&forms[k])) !=
                          kiln_reduction_is_held(kiln_reduction_schedule_of(&forms[k - 1])) ||
                      kiln_reduction_schedule_of(&forms[k])->items_along_reduced !=
                          kiln_reduction_schedule_of(&forms[k - 1])->items_along_reduced);
        cr_expect_eq(forms[count - 1].walk.vector_elems, 1);
        ir_fixture_destroy(fixture);
    }
}

Test(schedule_forms, a_pointwise_work_item_takes_fewer_vectors_then_shorter_ones)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t a = ir_fixture_load(fixture, 8192, 8192);
    uint32_t b = ir_fixture_load(fixture, 8192, 8192);
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, a, b));
    struct kiln_partition partition = ir_fixture_partition(fixture);
    struct kiln_schedule forms[FORM_LIMIT];
    uint32_t count = schedule_forms(fixture, &partition.groups[0], forms);
    cr_assert_eq(count, 4);
    cr_expect_eq(kiln_pointwise_schedule_of(&forms[0])->vectors_per_item, 2);
    cr_expect_eq(forms[0].walk.vector_elems, 4);
    cr_expect_eq(kiln_pointwise_schedule_of(&forms[1])->vectors_per_item, 1);
    cr_expect_eq(forms[1].walk.vector_elems, 4);
    cr_expect_eq(forms[2].walk.vector_elems, 2);
    cr_expect_eq(forms[3].walk.vector_elems, 1);
    ir_fixture_destroy(fixture);
}

Test(schedule_forms, a_transposing_work_item_loads_fewer_vectors_then_transposes_smaller_squares)
{
    static const int64_t sizes[] = {24, 100, 8192};
    static const enum kiln_dtype dtypes[] = {KILN_DTYPE_U8, KILN_DTYPE_F16, KILN_DTYPE_F32,
                                             KILN_DTYPE_F64};
    for (uint32_t i = 0; i < 12; i++) {
        struct ir_fixture *fixture = ir_fixture_create();
        int64_t size = sizes[i / 4];
        uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, size, size);
        fixture->tensors[tensor].strides[0] = 1;
        fixture->tensors[tensor].strides[1] = size;
        uint32_t transposed = kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
        uint32_t straight = ir_fixture_load(fixture, size, size);
        ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, straight, transposed));
        for (uint32_t k = 0; k < fixture->graph.tensor_count; k++)
            fixture->tensors[k].dtype = dtypes[i % 4];
        struct kiln_partition partition = ir_fixture_partition(fixture);
        struct kiln_schedule forms[FORM_LIMIT];
        uint32_t count = schedule_forms(fixture, &partition.groups[0], forms);
        cr_assert_str_eq(forms[0].template_name, "pointwise_tiled");
        cr_assert_gt(kiln_pointwise_schedule_of(&forms[0])->vectors_per_item, 1);
        for (uint32_t k = 1; k < count; k++) {
            bool has_fewer = kiln_pointwise_schedule_of(&forms[k])->vectors_per_item <
                             kiln_pointwise_schedule_of(&forms[k - 1])->vectors_per_item;
            cr_expect(has_fewer || forms[k].walk.vector_elems < forms[k - 1].walk.vector_elems);
            cr_expect(!has_fewer || forms[k].walk.vector_elems == forms[k - 1].walk.vector_elems);
            cr_expect_leq(kiln_pointwise_schedule_of(&forms[k])->vectors_per_item,
                          kiln_pointwise_schedule_of(&forms[k - 1])->vectors_per_item);
        }
        cr_expect_eq(kiln_pointwise_schedule_of(&forms[count - 1])->vectors_per_item, 1);
        cr_expect_eq(forms[count - 1].walk.vector_elems, 1);
        ir_fixture_destroy(fixture);
    }
}

static const struct reduction_case norm = {.content = REDUCTION_NORM,
                                           .rank = 2,
                                           .dims = {512, 4096},
                                           .reduced_axes = 2,
                                           .dtype = KILN_DTYPE_F32};

Test(schedule_forms, the_direction_of_the_walk_stays)
{
    struct ir_fixture *fixture = reduction_fixture_create("gfx90a");
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &norm);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    struct kiln_error error;
    kiln_error_init(&error);
    schedule.walk.is_backward = true;
    cr_assert_eq(kiln_schedule_relax(&fixture->ir, &fixture->graph, &group, &fixture->target,
                                     &schedule, &schedule, &error),
                 KILN_OK);
    cr_expect(schedule.walk.is_backward);
    cr_expect_eq(schedule.form, 1);
    ir_fixture_destroy(fixture);
}

Test(schedule_forms, explanations_name_the_form)
{
    struct ir_fixture *fixture = reduction_fixture_create("gfx90a");
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &norm);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_schedule_print(&schedule, &group, &text);
    cr_expect_null(strstr(kiln_buffer_text(&text), "form "));
    schedule.form = 2;
    kiln_schedule_print(&schedule, &group, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), "form 3 of this schedule"));
    kiln_buffer_fini(&text);
    ir_fixture_destroy(fixture);
}
