#include "cli/tensor_memory.h"

#include "cli/random_input.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A device whose memory is malloc's, at an offset that no promise is true for by accident. */
static enum kiln_status allocate(struct kiln_device *device, size_t bytes, void **ret_pointer,
                                 struct kiln_error *error)
{
    (void)device;
    (void)error;
    *ret_pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return KILN_OK;
}

static void release(struct kiln_device *device, void *pointer)
{
    (void)device;
    free(pointer);
}

static enum kiln_status copy(struct kiln_device *device, void *to, const void *from, size_t bytes,
                             struct kiln_error *error)
{
    (void)device;
    (void)error;
    memcpy(to, from, bytes);
    return KILN_OK;
}

static const struct kiln_device_ops ops = {
    .name = "fake", .allocate = allocate, .release = release, .copy_in = copy, .copy_out = copy};
static struct kiln_device device = {.ops = &ops};

/* 2 rows of 3 floats, 5 apart: two gaps of one row. */
static struct kiln_tensor tensor = {.uid = 7,
                                    .name = "t",
                                    .dtype = KILN_DTYPE_F32,
                                    .role = KILN_TENSOR_OUTPUT,
                                    .rank = 2,
                                    .dims = {2, 3},
                                    .strides = {5, 1},
                                    .alignment_bytes = 16,
                                    .producer = 0};
static struct kiln_tensor_memory memory;
static struct kiln_error error;

static void prepare(enum kiln_tensor_role role)
{
    tensor.role = role;
    kiln_error_init(&error);
    cr_assert_eq(kiln_tensor_memory_init(&memory, &tensor, &error), KILN_OK);
}

static float *upload(void)
{
    cr_assert_eq(kiln_tensor_memory_upload(&memory, &device, &error), KILN_OK);
    return kiln_tensor_memory_pointer(&memory);
}

static uint64_t stray_bytes(void)
{
    cr_assert_eq(kiln_tensor_memory_download(&memory, &device, &error), KILN_OK);
    uint64_t stray = kiln_tensor_memory_stray_bytes(&memory);
    kiln_tensor_memory_fini(&memory, &device);
    return stray;
}

Test(tensor_memory, is_aligned_as_promised_and_no_better)
{
    for (uint32_t alignment = 1; alignment <= 8192; alignment *= 2) {
        tensor.alignment_bytes = alignment;
        prepare(KILN_TENSOR_OUTPUT);
        uintptr_t address = (uintptr_t)upload();
        cr_assert_eq(address % alignment, 0);
        if (alignment <= 4096)
            cr_assert_neq(address % (2 * (uintptr_t)alignment), 0, "alignment %u", alignment);
        cr_assert_eq(stray_bytes(), 0);
    }
}

Test(tensor_memory, written_elements_are_no_stray_bytes)
{
    prepare(KILN_TENSOR_OUTPUT);
    float *first = upload();
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 3; column++)
            first[5 * row + column] = 1;
    cr_assert_eq(stray_bytes(), 0);
}

Test(tensor_memory, a_written_gap_is_stray)
{
    prepare(KILN_TENSOR_OUTPUT);
    upload()[3] = 1;
    cr_assert_eq(stray_bytes(), sizeof(float));
}

Test(tensor_memory, writing_around_the_tensor_is_stray)
{
    prepare(KILN_TENSOR_OUTPUT);
    float *first = upload();
    first[-1] = 1;
    first[8] = 1;
    cr_assert_eq(stray_bytes(), 2 * sizeof(float));
}

Test(tensor_memory, an_input_may_not_change_at_all)
{
    prepare(KILN_TENSOR_INPUT);
    struct kiln_random_input random = {.dtype = KILN_DTYPE_F32, .stream = 1};
    kiln_tensor_memory_fill(&memory, kiln_random_input_element, &random);
    float *first = upload();
    cr_assert(first[3] != first[3], "gaps of inputs are NaN");
    cr_assert(first[0] >= -2 && first[0] <= 2);
    first[1] += 1;
    cr_assert_gt(stray_bytes(), 0);
}

Test(tensor_memory, bools_are_zero_or_one)
{
    tensor.dtype = KILN_DTYPE_BOOL;
    prepare(KILN_TENSOR_OUTPUT);
    unsigned char *first = (unsigned char *)upload();
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 3; column++)
            first[5 * row + column] = (unsigned char)(column == 2 ? 0xc7 : column);
    cr_assert_eq(kiln_tensor_memory_download(&memory, &device, &error), KILN_OK);
    cr_assert_eq(kiln_tensor_memory_odd_bools(&memory), 2);
    kiln_tensor_memory_fini(&memory, &device);
}

Test(tensor_memory, files_hold_exactly_the_footprint, .init = NULL)
{
    cr_assert(temporary_directory_make());
    float content[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    prepare(KILN_TENSOR_INPUT);
    const char *path = write_file("short", content, sizeof(content) - 1);
    cr_assert_eq(kiln_tensor_memory_load(&memory, path, &error), KILN_BAD_ARGUMENT);
    cr_assert(strstr(error.text, "31 bytes"), "%s", error.text);
    path = write_file("right", content, sizeof(content));
    cr_assert_eq(kiln_tensor_memory_load(&memory, path, &error), KILN_OK);
    cr_assert_eq(memcmp(upload(), content, sizeof(content)), 0);
    cr_assert_eq(kiln_tensor_memory_download(&memory, &device, &error), KILN_OK);
    cr_assert_eq(kiln_tensor_memory_save(&memory, temporary_path("out"), &error), KILN_OK);
    cr_assert_eq(kiln_tensor_memory_save(&memory, "/dev/full", &error), KILN_IO);
    cr_assert_eq(kiln_tensor_memory_save(&memory, temporary_path("no/such/directory"), &error),
                 KILN_IO);
    kiln_tensor_memory_fini(&memory, &device);
    temporary_directory_remove();
}
