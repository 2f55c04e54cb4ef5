/* Contractions of products and convolutions: no malformed one passes. */
#include "compiler/ir/contraction.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

static struct kiln_map_axis along(uint8_t axis, int64_t step)
{
    struct kiln_map_axis result = kiln_map_axis_along(axis);
    result.step.value = step;
    return result;
}

/* [6, 2, 3] = [2, 2, 4] * [6, 4, 3]: three neighbouring batches share a left operand. */
static struct kiln_contraction make_product(struct kiln_contraction_setting *ret_setting)
{
    static const int64_t left[] = {2, 2, 4}, right[] = {6, 4, 3}, result[] = {6, 2, 3};
    *ret_setting = (struct kiln_contraction_setting){
        .names = {"left", "right", "result"}, .dims = {left, right, result}, .ranks = {3, 3, 3}};
    struct kiln_contraction contraction = {0};
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    struct kiln_map_axis shared = along(2, 1);
    shared.repeat.value = 3;
    kiln_contraction_append(&contraction, KILN_AXIS_BATCH, 6, shared, along(2, 1), along(2, 1));
    kiln_contraction_append(&contraction, KILN_AXIS_M, 2, along(1, 1), nowhere, along(1, 1));
    kiln_contraction_append(&contraction, KILN_AXIS_N, 3, nowhere, along(0, 1), along(0, 1));
    kiln_contraction_append(&contraction, KILN_AXIS_K, 4, along(0, 1), along(1, 1), nowhere);
    return contraction;
}

/* [2, 3, 5] = [2, 4, 9] (*) [3, 4, 3], stride 2, padding 1. */
static struct kiln_contraction make_convolution(struct kiln_contraction_setting *ret_setting)
{
    static const int64_t image[] = {2, 4, 9}, filters[] = {3, 4, 3}, result[] = {2, 3, 5};
    *ret_setting = (struct kiln_contraction_setting){.names = {"image", "filters", "result"},
                                                     .dims = {image, filters, result},
                                                     .ranks = {3, 3, 3}};
    struct kiln_contraction contraction = {0};
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    kiln_contraction_append(&contraction, KILN_AXIS_M, 2, along(2, 1), nowhere, along(2, 1));
    kiln_contraction_append(&contraction, KILN_AXIS_N, 3, nowhere, along(2, 1), along(1, 1));
    kiln_contraction_append(&contraction, KILN_AXIS_K, 4, along(1, 1), along(1, 1), nowhere);
    kiln_contraction_append(&contraction, KILN_AXIS_M, 5, along(0, 2), nowhere, along(0, 1));
    kiln_contraction_append(&contraction, KILN_AXIS_K, 3, along(0, 1), along(0, 1), nowhere);
    struct kiln_map *map = &contraction.maps[KILN_CONTRACT_LEFT];
    map->windows[map->window_count++] =
        (struct kiln_map_window){.over = 0,
                                 .size = kiln_constant_number(9),
                                 .offset = kiln_constant_number(-1),
                                 .divisor = kiln_constant_number(1)};
    return contraction;
}

typedef struct kiln_contraction make_function(struct kiln_contraction_setting *ret_setting);

static make_function *const makers[] = {make_product, make_convolution};

enum { MAKERS = sizeof makers / sizeof *makers };

static struct kiln_buffer text;

static void setup(void)
{
    kiln_buffer_init(&text);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
}

TestSuite(contraction, .init = setup, .fini = teardown);

static void expect_fault(const struct kiln_contraction *contraction,
                         const struct kiln_contraction_setting *setting, const char *sentence)
{
    kiln_buffer_clear(&text);
    cr_expect_neq(kiln_contraction_validate(contraction, setting, &text), 0);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), sentence), "'%s' is not in:\n%s", sentence,
                       kiln_buffer_text(&text));
}

Test(contraction, sound_ones_pass_in_either_order)
{
    for (size_t i = 0; i < MAKERS; i++) {
        struct kiln_contraction_setting setting;
        struct kiln_contraction contraction = makers[i](&setting);
        cr_expect_eq(kiln_contraction_validate(&contraction, &setting, &text), 0, "%s",
                     kiln_buffer_text(&text));
        struct kiln_contraction swapped = kiln_contraction_swap(&contraction);
        struct kiln_contraction_setting other = setting;
        other.dims[KILN_CONTRACT_LEFT] = setting.dims[KILN_CONTRACT_RIGHT];
        other.dims[KILN_CONTRACT_RIGHT] = setting.dims[KILN_CONTRACT_LEFT];
        cr_expect_eq(kiln_contraction_validate(&swapped, &other, &text), 0, "%s",
                     kiln_buffer_text(&text));
        cr_expect_not(kiln_contraction_is_equal(&contraction, &swapped));
        swapped = kiln_contraction_swap(&swapped);
        cr_expect(kiln_contraction_is_equal(&contraction, &swapped));
    }
}

Test(contraction, rows_and_columns_are_split_into_blocks)
{
    struct kiln_contraction_setting setting;
    struct kiln_contraction split;
    struct kiln_contraction contraction = make_product(&setting);
    contraction.sizes[1] = 8;
    contraction.sizes[2] = 12;
    const int64_t left[] = {2, 8, 4}, right[] = {6, 4, 12}, columns[] = {6, 8, 3, 4},
                  rows[] = {6, 4, 2, 12};
    enum kiln_axis_role role;
    setting.dims[KILN_CONTRACT_LEFT] = left;
    setting.dims[KILN_CONTRACT_RIGHT] = right;
    setting.ranks[KILN_CONTRACT_RESULT] = 4;
    cr_expect_eq(kiln_contraction_block(&contraction, 0, &role), 0);
    cr_assert(kiln_contraction_split(&contraction, 0, 4, &split));
    setting.dims[KILN_CONTRACT_RESULT] = columns;
    cr_expect_eq(kiln_contraction_validate(&split, &setting, &text), 0, "%s",
                 kiln_buffer_text(&text));
    kiln_contraction_print_maps(&split, &text);
    cr_expect_str_eq(kiln_buffer_text(&text),
                     "b6 m8 n4 k4 n3 left [2/3, 1, -, 0, -] right [2, -, 0, 1, 0*4] "
                     "result [3, 2, 0, -, 1]");
    cr_expect_eq(kiln_contraction_block(&split, 0, &role), 4);
    cr_expect_eq(role, KILN_AXIS_N);
    cr_expect_eq(kiln_contraction_block(&split, 1, &role), 0);
    cr_assert(kiln_contraction_split(&contraction, 1, 2, &split));
    setting.dims[KILN_CONTRACT_RESULT] = rows;
    cr_expect_eq(kiln_contraction_validate(&split, &setting, &text), 0, "%s",
                 kiln_buffer_text(&text));
    cr_expect_eq(kiln_contraction_block(&split, 1, &role), 2);
    cr_expect_eq(role, KILN_AXIS_M);
    /* A batch, a block that does not divide its axis, and pixels that move a window. */
    cr_expect_not(kiln_contraction_split(&contraction, 2, 2, &split));
    cr_expect_not(kiln_contraction_split(&contraction, 0, 5, &split));
    contraction = make_convolution(&setting);
    cr_expect_not(kiln_contraction_split(&contraction, 0, 5, &split));
    cr_expect(kiln_contraction_split(&contraction, 1, 3, &split));
    /* Groups and channels of a group go along one axis. */
    contraction.maps[KILN_CONTRACT_RESULT].axes[0].along = 1;
    cr_expect_not(kiln_contraction_split(&contraction, 1, 3, &split));
}

Test(contraction, is_printed_with_its_maps)
{
    struct kiln_contraction_setting setting;
    struct kiln_contraction contraction = make_convolution(&setting);
    kiln_contraction_print_maps(&contraction, &text);
    cr_expect_str_eq(kiln_buffer_text(&text),
                     "m2 n3 k4 m5 k3 left [2, -, 1, 0*2, 0] window 0 of 9 from -1 right [-, 2, 1, "
                     "-, 0] result [2, 1, -, 0, -]");
}

/* ---- malformed ones ---- */

/* Values for a member that spoil every sound contraction, in every axis of it. */
Test(contraction, a_malformed_member_of_an_axis_is_found)
{
    for (size_t i = 0; i < MAKERS; i++) {
        struct kiln_contraction_setting setting;
        const struct kiln_contraction sound = makers[i](&setting);
        for (uint32_t a = 0; a < sound.axis_count; a++) {
            struct kiln_contraction contraction = sound;
            for (uint32_t role = 0; role <= KILN_AXIS_ROLE_COUNT; role++) {
                contraction.roles[a] = (enum kiln_axis_role)role;
                /* An operand may lack a batch, so rows and columns may be batches. */
                if (contraction.roles[a] != sound.roles[a] &&
                    (role != KILN_AXIS_BATCH || sound.roles[a] == KILN_AXIS_K))
                    expect_fault(&contraction, &setting, "is not one of its role");
            }
            contraction = sound;
            static const int64_t sizes[] = {0, -1, INT64_MIN, INT64_MAX};
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                contraction.sizes[a] = sizes[s];
                expect_fault(&contraction, &setting, "");
            }
            for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++) {
                contraction = sound;
                contraction.maps[side].axes[a].along = KILN_MAX_RANK;
                expect_fault(&contraction, &setting, "");
                contraction = sound;
                contraction.maps[side].axes[a].repeat.value = 5;
                expect_fault(&contraction, &setting, "");
                contraction = sound;
                contraction.maps[side].axes[a].step.value = 0;
                expect_fault(&contraction, &setting, "");
            }
        }
    }
}

Test(contraction, counts_are_bounded_and_agree)
{
    struct kiln_contraction_setting setting;
    const struct kiln_contraction sound = make_product(&setting);
    struct kiln_contraction contraction = sound;
    contraction.axis_count = KILN_CONTRACTION_MAX_AXES + 1;
    expect_fault(&contraction, &setting, "result: 11 axes are too many");
    contraction.axis_count = 3;
    expect_fault(&contraction, &setting, "left: the map has 4 axes, and 3 are iterated over");
    contraction = sound;
    for (uint32_t i = 0; i < 4; i++)
        kiln_contraction_append(&contraction, KILN_AXIS_K, 1, along(0, 1), along(1, 1),
                                kiln_map_axis_nowhere());
    expect_fault(&contraction, &setting, "result: 5 axes of k are more than 4");
}

Test(contraction, the_result_is_covered_once)
{
    struct kiln_contraction_setting setting;
    const struct kiln_contraction sound = make_product(&setting);
    struct kiln_contraction contraction = sound;
    contraction.sizes[1] = 1;
    expect_fault(&contraction, &setting, "result: elements along axis 1 are not named exactly");
    contraction = sound;
    contraction.maps[KILN_CONTRACT_RESULT].axes[1].along = 0;
    expect_fault(&contraction, &setting, "result: coordinates along axis 0 reach 3, but its size");
}

Test(contraction, only_the_image_has_windows)
{
    struct kiln_contraction_setting setting;
    struct kiln_contraction contraction = make_convolution(&setting);
    contraction.image = KILN_CONTRACT_RIGHT;
    expect_fault(&contraction, &setting, "result: the operand that is no image has windows");
    contraction.image = KILN_CONTRACT_RESULT;
    expect_fault(&contraction, &setting, "result: the image is no operand");
}

Test(contraction, sentences_name_the_operand)
{
    struct kiln_contraction_setting setting;
    struct kiln_contraction contraction = make_convolution(&setting);
    contraction.maps[KILN_CONTRACT_LEFT].windows[0].size.value = 8;
    expect_fault(&contraction, &setting, "image: window 0 has size 8, and axis 0 has 9");
    contraction.maps[KILN_CONTRACT_RIGHT].axes[2].step.value = -1;
    expect_fault(&contraction, &setting, "filters: axis 2 has step -1 along axis 1");
}
