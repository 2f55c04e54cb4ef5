/*
 * Which device is opened when.
 */
#include "runtime/device/device.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct kiln_error error;

static const char *kind_of_opened(const char *name)
{
    struct kiln_device *device = NULL;
    enum kiln_status status = kiln_device_open(name, &device, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    const char *kind = device->ops->name;
    kiln_device_close(device);
    return kind;
}

static void set_up(void)
{
    unsetenv("KILN_DEVICE");
    kiln_error_init(&error);
}

TestSuite(device_table, .init = set_up);

Test(device_table, lists_hip_before_host_before_cuda)
{
    cr_assert_eq(kiln_device_kind_count(), 3);
    cr_expect_str_eq(kiln_device_kind(0)->name, "hip");
    cr_expect_str_eq(kiln_device_kind(1)->name, "host");
    cr_expect_str_eq(kiln_device_kind(2)->name, "cuda");
}

Test(device_table, takes_cuda_only_when_it_is_named)
{
    struct stand_in hip = stand_in_open();
    struct cuda_stand_in cuda = cuda_stand_in_open();
    hip.set_device_count(0);
    cr_expect_str_eq(kind_of_opened(kiln_device_default_names()), "host");
    cr_expect_eq(cuda.base.call_count(), 0, "CUDA was touched");
    cr_expect_str_eq(kind_of_opened("cuda"), "cuda");
    setenv("KILN_DEVICE", "cuda", 1);
    cr_expect_str_eq(kind_of_opened(NULL), "cuda");
    cuda.base.set_device_count(0);
    struct kiln_device *device = NULL;
    cr_expect_eq(kiln_device_open(NULL, &device, &error), KILN_UNSUPPORTED);
    cr_expect_null(device);
}

Test(device_table, opens_the_first_name_that_is_there)
{
    struct stand_in hip = stand_in_open();
    cr_expect_str_eq(kind_of_opened("hip,host"), "hip");
    hip.set_device_count(0);
    cr_expect_str_eq(kind_of_opened("hip,host"), "host");
    setenv("KILN_DEVICE", "hip,host", 1);
    cr_expect_str_eq(kind_of_opened(NULL), "host");
    cr_expect_null(kiln_device_default_names());
}

/* A host's buffers are device memory. */
Test(device_table, the_host_is_no_default)
{
    struct stand_in hip = stand_in_open();
    cr_expect_str_eq(kind_of_opened(NULL), "hip");
    hip.set_device_count(0);
    struct kiln_device *device = NULL;
    for (int empty = 0; empty < 2; empty++) {
        cr_expect_eq(kiln_device_open(empty ? "" : NULL, &device, &error), KILN_UNSUPPORTED);
        cr_expect_null(device);
        cr_expect_str_eq(error.text, "HIP finds no AMD GPU on this machine\n"
                                     "hint: KILN_DEVICE=host runs graphs on the CPU");
    }
}

Test(device_table, does_not_turn_a_broken_gpu_into_the_host)
{
    struct stand_in hip = stand_in_open();
    hip.set_architecture("gfx803", 1160);
    struct kiln_device *device = NULL;
    cr_expect_eq(kiln_device_open(NULL, &device, &error), KILN_DEVICE);
    cr_expect_null(device);
}

Test(device_table, name_and_variable_decide)
{
    stand_in_open();
    setenv("KILN_DEVICE", "host", 1);
    cr_expect_str_eq(kind_of_opened(NULL), "host");
    cr_expect_str_eq(kind_of_opened("hip"), "hip");
    setenv("KILN_DEVICE", "abacus", 1);
    struct kiln_device *device = NULL;
    cr_expect_eq(kiln_device_open(NULL, &device, &error), KILN_BAD_ARGUMENT);
    cr_expect_str_eq(error.text,
                     "device 'abacus' is not known\nhint: known devices are hip, host, cuda");
    static const char *const wrong[] = {"hip,", ",host", "host,abacus", "hi", "hipp", ","};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_eq(kiln_device_open(wrong[i], &device, &error), KILN_BAD_ARGUMENT, "%s",
                     wrong[i]);
}

Test(device_table, closing_nothing_is_fine)
{
    kiln_device_close(NULL);
}

static struct kiln_device_description description_of(const char *name)
{
    struct kiln_device *device = NULL;
    struct kiln_device_description description;
    cr_assert_eq(kiln_device_open(name, &device, &error), KILN_OK, "%s", error.text);
    kiln_device_describe(device, &description);
    kiln_device_close(device);
    return description;
}

Test(device_table, devices_are_described)
{
    (void)stand_in_open();
    (void)cuda_stand_in_open();
    struct kiln_device_description hip = description_of("hip");
    cr_expect_str_eq(hip.name, "stand-in 0");
    cr_expect_geq(hip.count, 1);
    cr_expect_str_eq(hip.driver_version, "6.4.43482");
    cr_expect_str_eq(hip.runtime_version, "7.0.12345");
    cr_expect(strstr(hip.library, ".so"), "%s", hip.library);
    struct kiln_device_description cuda = description_of("cuda");
    cr_expect_str_eq(cuda.name, "stand-in 0");
    cr_expect_str_eq(cuda.driver_version, "12.8");
    cr_expect_str_eq(cuda.runtime_version, "");
    struct kiln_device_description host = description_of("host");
    cr_expect_str_eq(host.library, "");
    cr_expect_eq(host.count, 0);
}
