/* Maps of every kind of operand: their coordinates, their text, and that no malformed one passes.
 */
#include "compiler/ir/map.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#define NUMBER(n) {.value = (n)}
#define ALONG(axis, repeats, steps)                                                                \
    {.along = (axis), .repeat = NUMBER(repeats), .step = NUMBER(steps)}
#define NOWHERE ALONG(KILN_NO_AXIS, 1, 1)
#define WINDOW(axis, length, first, whole)                                                         \
    {.over = (axis), .size = NUMBER(length), .offset = NUMBER(first), .divisor = NUMBER(whole)}

struct sound_map {
    const char *name; /* begins the sentences */
    int64_t sizes[KILN_MAP_MAX_AXES];
    int64_t dims[KILN_MAX_RANK];
    uint32_t rank;
    struct kiln_map map;
    const char *text;
    bool is_result;
};

static const struct sound_map sound_maps[] = {
    {"scalar", {5}, {0}, 0, {.axis_count = 1, .axes = {NOWHERE}}, "[-]", false},
    {"matrix",
     {4, 7, 3},
     {4, 3},
     2,
     {.axis_count = 3, .axes = {ALONG(1, 1, 1), NOWHERE, ALONG(0, 1, 1)}},
     "[1, -, 0]",
     false},
    {"grouped heads",
     {6, 4, 3},
     {2, 4, 3},
     3,
     {.axis_count = 3, .axes = {ALONG(2, 3, 1), ALONG(1, 1, 1), ALONG(0, 1, 1)}},
     "[2/3, 1, 0]",
     false},
    {"image",
     {2, 5, 3},
     {2, 9},
     2,
     {.axis_count = 3,
      .axes = {ALONG(1, 1, 1), ALONG(0, 1, 2), ALONG(0, 1, 1)},
      .window_count = 1,
      .windows = {WINDOW(0, 9, -1, 1)}},
     "[1, 0*2, 0] window 0 of 9 from -1",
     false},
    {"strided gradient",
     {9, 3},
     {5},
     1,
     {.axis_count = 2,
      .axes = {ALONG(0, 1, 1), ALONG(0, 1, -1)},
      .window_count = 1,
      .windows = {WINDOW(0, 5, 1, 2)}},
     "[0, 0*-1] window 0 of 5 from 1 by 2",
     false},
    {"result of groups",
     {3, 2, 4},
     {2, 12},
     2,
     {.axis_count = 3, .axes = {ALONG(0, 1, 4), ALONG(1, 1, 1), ALONG(0, 1, 1)}},
     "[0*4, 1, 0]",
     true},
};

enum { SOUND_MAPS = sizeof sound_maps / sizeof *sound_maps };

static struct kiln_map_setting setting_of(const struct sound_map *sound)
{
    return (struct kiln_map_setting){
        .name = sound->name,
        .sizes = sound->sizes,
        .axis_count = sound->map.axis_count,
        .dims = sound->dims,
        .rank = sound->rank,
        .is_result = sound->is_result,
    };
}

static uint32_t count_faults(const struct kiln_map *map, const struct kiln_map_setting *setting,
                             struct kiln_buffer *faults)
{
    kiln_buffer_clear(faults);
    return kiln_map_validate(map, setting, faults);
}

Test(map, sound_maps_are_accepted_and_printed)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    for (size_t i = 0; i < SOUND_MAPS; i++) {
        struct kiln_map_setting setting = setting_of(&sound_maps[i]);
        cr_expect_eq(count_faults(&sound_maps[i].map, &setting, &buffer), 0, "%s",
                     kiln_buffer_text(&buffer));
        kiln_buffer_clear(&buffer);
        kiln_map_print(&sound_maps[i].map, &buffer);
        cr_expect_str_eq(kiln_buffer_text(&buffer), sound_maps[i].text);
    }
    kiln_buffer_fini(&buffer);
}

Test(map, arguments_are_printed_by_index)
{
    struct kiln_buffer buffer;
    kiln_buffer_init(&buffer);
    struct kiln_map map = sound_maps[4].map;
    map.axes[0].step.argument = 1;
    map.axes[1].repeat.argument = 4;
    map.windows[0].size.argument = 2;
    map.windows[0].divisor.argument = 3;
    kiln_map_print(&map, &buffer);
    cr_expect_str_eq(kiln_buffer_text(&buffer), "[0*$0, 0/$3*-1] window 0 of $1 from 1 by $2");
    kiln_buffer_fini(&buffer);
}

/* ---- coordinates ---- */

Test(map, coordinates_follow_the_formula)
{
    int64_t at;
    const struct kiln_map *heads = &sound_maps[2].map;
    cr_expect(kiln_map_locate(heads, (int64_t[]){5, 1, 2}, 2, &at) && at == 1);
    cr_expect(kiln_map_locate(heads, (int64_t[]){2, 1, 2}, 2, &at) && at == 0);
    const struct kiln_map *image = &sound_maps[3].map;
    cr_expect_not(kiln_map_locate(image, (int64_t[]){0, 0, 0}, 0, &at), "left of the image");
    cr_expect(kiln_map_locate(image, (int64_t[]){0, 4, 1}, 0, &at) && at == 8);
    cr_expect_not(kiln_map_locate(image, (int64_t[]){0, 4, 2}, 0, &at), "right of the image");
    const struct kiln_map *gradient = &sound_maps[4].map;
    cr_expect_not(kiln_map_locate(gradient, (int64_t[]){0, 0}, 0, &at), "between two pixels");
    cr_expect(kiln_map_locate(gradient, (int64_t[]){0, 1}, 0, &at) && at == 0);
    cr_expect(kiln_map_locate(gradient, (int64_t[]){8, 1}, 0, &at) && at == 4);
    cr_expect(kiln_map_locate(gradient, (int64_t[]){0, 1}, 3, &at) && at == 0, "an axis it lacks");
}

/* ---- malformed maps ---- */

/* A member of a map, and values that make each sound map malformed. */
struct mutation {
    const char *member;
    size_t offset;
    size_t bytes;
    int64_t values[5];
    uint32_t value_count;
};

#define MEMBER(member, bytes) #member, offsetof(struct kiln_map, member), bytes

/* For every map. */
static const struct mutation mutations[] = {
    {MEMBER(axis_count, 4), {0, KILN_MAP_MAX_AXES + 1, UINT32_MAX}, 3},
    {MEMBER(axes[0].along, 1), {KILN_MAX_RANK, KILN_NO_AXIS - 1}, 2},
    {MEMBER(axes[0].repeat.value, 8), {0, -1, INT64_MIN, INT64_MAX, 7}, 5},
    {MEMBER(axes[0].repeat.argument, 4), {1, UINT32_MAX}, 2},
    {MEMBER(axes[0].step.value, 8), {0, INT64_MIN, INT64_MAX}, 3},
    {MEMBER(axes[0].step.argument, 4), {1, UINT32_MAX}, 2},
    {MEMBER(window_count, 4), {KILN_MAP_MAX_WINDOWS, KILN_MAP_MAX_WINDOWS + 1, UINT32_MAX}, 3},
};

/* Mutations of a map with a window. */
static const struct mutation window_mutations[] = {
    {MEMBER(windows[0].over, 1), {1, KILN_MAX_RANK - 1, KILN_MAX_RANK, KILN_NO_AXIS}, 4},
    {MEMBER(windows[0].size.value, 8), {0, -1, 1, INT64_MIN, INT64_MAX}, 5},
    {MEMBER(windows[0].size.argument, 4), {1, UINT32_MAX}, 2},
    {MEMBER(windows[0].offset.value, 8), {INT64_MAX}, 1},
    {MEMBER(windows[0].offset.argument, 4), {1, UINT32_MAX}, 2},
    {MEMBER(windows[0].divisor.value, 8), {0, -1, INT64_MIN}, 3},
    {MEMBER(windows[0].divisor.argument, 4), {1, UINT32_MAX}, 2},
};

static void write_member(struct kiln_map *map, const struct mutation *mutation, int64_t value)
{
    char *at = (char *)map + mutation->offset;
    uint32_t word = (uint32_t)value;
    uint8_t byte = (uint8_t)value;
    memcpy(at,
           mutation->bytes == 8   ? (const void *)&value
           : mutation->bytes == 4 ? (const void *)&word
                                  : (const void *)&byte,
           mutation->bytes);
}

static void expect_refusals(const struct sound_map *sound, const struct mutation *table,
                            size_t count)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    struct kiln_map_setting setting = setting_of(sound);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t v = 0; v < table[i].value_count; v++) {
            struct kiln_map map = sound->map;
            write_member(&map, &table[i], table[i].values[v]);
            cr_expect_neq(count_faults(&map, &setting, &faults), 0, "%s: %s = %lld", sound->name,
                          table[i].member, (long long)table[i].values[v]);
            cr_expect_eq(strncmp(kiln_buffer_text(&faults), sound->name, strlen(sound->name)), 0);
        }
    }
    kiln_buffer_fini(&faults);
}

Test(map, a_malformed_member_is_found)
{
    for (size_t i = 0; i < SOUND_MAPS; i++) {
        const struct sound_map *sound = &sound_maps[i];
        expect_refusals(sound, mutations, sizeof mutations / sizeof *mutations);
        if (sound->map.window_count != 0)
            expect_refusals(sound, window_mutations,
                            sizeof window_mutations / sizeof *window_mutations);
    }
}

static void expect_sentence(const struct kiln_map *map, const struct kiln_map_setting *setting,
                            const char *sentence)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    cr_expect_neq(kiln_map_validate(map, setting, &faults), 0);
    cr_expect_str_eq(kiln_buffer_text(&faults), sentence);
    kiln_buffer_fini(&faults);
}

Test(map, faults_are_sentences_about_the_operand)
{
    struct kiln_map map = sound_maps[1].map;
    struct kiln_map_setting setting = setting_of(&sound_maps[1]);
    map.axes[0].step.value = 2;
    expect_sentence(&map, &setting,
                    "matrix: coordinates along axis 1 reach 6, but its size is 4\n");
    map = sound_maps[1].map;
    map.axes[0] = kiln_map_axis_nowhere();
    expect_sentence(&map, &setting, "matrix: no axis goes along axis 1 of size 4\n");
    map = sound_maps[1].map;
    map.axes[2].repeat.value = 2;
    expect_sentence(&map, &setting, "matrix: axis 2 of size 3 has repeat 2\n");
    map = sound_maps[1].map;
    map.axes[1].step.value = 2;
    expect_sentence(&map, &setting, "matrix: axis 1 goes along none, but has a repeat or a step\n");
    map = sound_maps[3].map;
    setting = setting_of(&sound_maps[3]);
    map.axes[1].step.value = INT64_MAX / 2;
    expect_sentence(&map, &setting, "image: coordinates along axis 0 overflow\n");
    map = sound_maps[3].map;
    map.windows[map.window_count++] = map.windows[0];
    expect_sentence(&map, &setting, "image: windows 0 and 1 are over one axis\n");
}

Test(map, a_result_names_every_element_once)
{
    struct kiln_map map = sound_maps[5].map;
    struct kiln_map_setting setting = setting_of(&sound_maps[5]);
    map.axes[0].step.value = 3;
    expect_sentence(&map, &setting,
                    "result of groups: elements along axis 0 are not named exactly once\n");
    map = sound_maps[5].map;
    map.axes[1].repeat.value = 2;
    expect_sentence(&map, &setting, "result of groups: axis 1 repeats a result\n");
    map = sound_maps[5].map;
    map.windows[map.window_count++] = (struct kiln_map_window)WINDOW(1, 2, 0, 1);
    expect_sentence(&map, &setting, "result of groups: window 0 is over a result\n");
}

Test(map, arguments_exist)
{
    struct kiln_map map = sound_maps[1].map;
    struct kiln_map_setting setting = setting_of(&sound_maps[1]);
    setting.argument_count = 3;
    map.axes[0].step.argument = 3;
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    cr_expect_eq(kiln_map_validate(&map, &setting, &faults), 0, "%s", kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
    map.axes[0].step.argument = 4;
    expect_sentence(&map, &setting, "matrix: the step of axis 0 is argument 3, and there are 3\n");
}

Test(map, equality_compares_every_member)
{
    for (size_t i = 0; i < SOUND_MAPS; i++) {
        cr_expect(kiln_map_is_equal(&sound_maps[i].map, &sound_maps[i].map));
        for (size_t m = 0; m < sizeof mutations / sizeof *mutations; m++) {
            struct kiln_map map = sound_maps[i].map;
            write_member(&map, &mutations[m], mutations[m].values[0]);
            cr_expect_not(kiln_map_is_equal(&map, &sound_maps[i].map), "%s: %s", sound_maps[i].name,
                          mutations[m].member);
        }
        for (size_t m = 0; m < sizeof window_mutations / sizeof *window_mutations; m++) {
            struct kiln_map map = sound_maps[i].map;
            write_member(&map, &window_mutations[m], window_mutations[m].values[0]);
            cr_expect(map.window_count == 0 || !kiln_map_is_equal(&map, &sound_maps[i].map),
                      "%s: %s", sound_maps[i].name, window_mutations[m].member);
        }
    }
}
