/*
 * The hip device against the stand-in: which functions of HIP are called in which order, with which
 * arguments, and what becomes of their errors.
 */
#include "runtime/device/hip_device.h"
#include "tests/runtime/device/gpu_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct stand_in hip;
static struct kiln_error error;

static void set_up(void)
{
    hip = stand_in_open();
    kiln_error_init(&error);
}

TestSuite(hip_device, .init = set_up);

Test(hip_device, opens_the_current_device)
{
    hip.set_device(2);
    struct kiln_device *device = gpu_open("hip");
    cr_expect_eq(device->ordinal, 2);
    cr_expect_str_eq(device->target.name, "gfx90a", "whatever the settings of its features");
    cr_expect_str_eq(device->target.processor, "gfx90a");
    cr_expect_eq(device->target.wave_size, 64);
    cr_expect_eq(gpu_first_call(&hip, "hipGetDevicePropertiesR0600")->arguments[0], 2);
    kiln_device_close(device);
}

Test(hip_device, finds_the_processor_wherever_the_layout_has_it)
{
    static const size_t offsets[] = {256, 396, 640, 1160, 2047};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        hip.set_architecture("gfx1100", offsets[i]);
        struct kiln_device *device = gpu_open("hip");
        cr_expect_str_eq(device->target.name, "gfx1100");
        kiln_device_close(device);
    }
}

Test(hip_device, says_which_processor_it_does_not_know)
{
    hip.set_architecture("gfx803", 1160);
    gpu_expect_open_fails("hip", KILN_DEVICE, "'gfx803'");
    hip.set_architecture("nothing of the kind", 1160);
    gpu_expect_open_fails("hip", KILN_DEVICE, "no 'gfx' processor");
}

Test(hip_device, no_gpu_is_unsupported_and_a_failing_one_is_not)
{
    hip.set_device_count(0);
    gpu_expect_open_fails("hip", KILN_UNSUPPORTED, "no AMD GPU");
    hip.set_device_count(1);
    hip.fail("hipGetDeviceCount", KILN_STAND_IN_INVALID_VALUE, 0);
    gpu_expect_open_fails("hip", KILN_DEVICE, "invalid argument (HIP error 1)");
    hip.fail("hipGetDevice", KILN_STAND_IN_INVALID_VALUE, 0);
    gpu_expect_open_fails("hip", KILN_DEVICE, "asking for the current HIP device failed");
    hip.fail("hipGetDevicePropertiesR0600", KILN_STAND_IN_INVALID_VALUE, 0);
    gpu_expect_open_fails("hip", KILN_DEVICE, "properties of HIP device 0");
}

Test(hip_device, library_that_is_not_there_is_named)
{
    setenv("KILN_HIP_LIBRARY", "libno_such_hip.so", 1);
    gpu_expect_open_fails("hip", KILN_UNSUPPORTED, "'libno_such_hip.so'");
    setenv("KILN_HIP_LIBRARY", "libm.so.6", 1);
    gpu_expect_open_fails("hip", KILN_UNSUPPORTED, "no function 'hipGetDeviceCount'");
    /* dlopen would wait for a writer. */
    cr_assert(temporary_directory_make());
    cr_assert_eq(mkfifo(temporary_path("pipe"), 0600), 0);
    setenv("KILN_HIP_LIBRARY", temporary_path("pipe"), 1);
    gpu_expect_open_fails("hip", KILN_UNSUPPORTED, "it is no file");
    temporary_directory_remove();
}

Test(hip_device, loads_launches_and_unloads)
{
    struct kiln_device *device = gpu_open("hip");
    size_t first = hip.call_count();
    struct gpu_loaded loaded = gpu_load(device);
    gpu_expect_trace(&hip, first, "hipGetDevice hipModuleLoadData hipModuleGetFunction ");
    cr_expect_eq(gpu_first_call(&hip, "hipModuleLoadData")->arguments[1],
                 (uint64_t)(uintptr_t)gpu_code_object);
    cr_expect_str_eq(gpu_first_call(&hip, "hipModuleGetFunction")->symbol, "kernel");

    first = hip.call_count();
    gpu_expect_launch_arrives(&hip, device, &loaded, "hipModuleLaunchKernel");
    gpu_expect_trace(&hip, first, "hipGetDevice hipModuleLaunchKernel ");

    cr_expect_eq(hip.live_modules(), 1);
    device->ops->unload(device, loaded.module);
    cr_expect_eq(hip.live_modules(), 0);
    kiln_device_close(device);
}

Test(hip_device, works_on_its_device_and_gives_the_callers_back)
{
    hip.set_device(1);
    struct kiln_device *device = gpu_open("hip");
    hip.set_device(0);
    size_t first = hip.call_count();
    struct gpu_loaded loaded = gpu_load(device);
    gpu_expect_trace(
        &hip, first,
        "hipGetDevice hipSetDevice hipModuleLoadData hipModuleGetFunction hipSetDevice ");
    cr_expect_eq(gpu_first_call(&hip, "hipModuleLoadData")->device, 1);
    const struct kiln_launch launch = gpu_launch_of(&loaded);
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(gpu_first_call(&hip, "hipModuleLaunchKernel")->device, 1);
    cr_expect_eq(hip.call(hip.call_count() - 1)->arguments[0], 0, "device 0 is current again");
    int current = -1;
    cr_expect_eq(device->ops->current_ordinal(device, &current, &error), KILN_OK);
    cr_expect_eq(current, 0);
    device->ops->unload(device, loaded.module);
    kiln_device_close(device);
}

Test(hip_device, load_errors_are_sentences_and_leave_nothing)
{
    struct kiln_device *device = gpu_open("hip");
    gpu_expect_load_fails(device, "no code object", KILN_REFUSED,
                          "loading the code object of kernel 'kernel' failed: device kernel "
                          "image is invalid (HIP error 200)");
    hip.fail("hipModuleGetFunction", KILN_STAND_IN_NOT_FOUND, 0);
    gpu_expect_load_fails(device, gpu_code_object, KILN_REFUSED,
                          "finding kernel 'kernel' in its code object failed: named symbol "
                          "not found (HIP error 500)");
    cr_expect_eq(hip.live_modules(), 0);
    kiln_device_close(device);
}

Test(hip_device, a_lost_device_does_not_refuse_the_code_object)
{
    struct kiln_device *device = gpu_open("hip");
    hip.fail("hipModuleLoadData", KILN_STAND_IN_LAUNCH_FAILURE, 0);
    gpu_expect_load_fails(device, gpu_code_object, KILN_DEVICE,
                          "loading the code object of kernel 'kernel' failed: unspecified launch "
                          "failure (HIP error 719)");
    kiln_device_close(device);
}

Test(hip_device, launch_errors_are_reported_at_the_launch)
{
    struct kiln_device *device = gpu_open("hip");
    struct gpu_loaded loaded = gpu_load(device);
    const struct kiln_launch launch = gpu_launch_of(&loaded);
    hip.fail("hipModuleLaunchKernel", KILN_STAND_IN_INVALID_VALUE, 1);
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK);
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "launching a kernel on HIP device 0 failed: invalid argument "
                                 "(HIP error 1)");
    hip.fail("hipModuleUnload", KILN_STAND_IN_INVALID_VALUE, 0);
    device->ops->unload(device, loaded.module);
    hip.fail("hipModuleUnload", 0, 0);
    device->ops->unload(device, loaded.module);
    kiln_device_close(device);
}

Test(hip_device, waits_for_kernels_before_it_unloads)
{
    struct kiln_device *device = gpu_open("hip");
    struct gpu_loaded loaded = gpu_load(device);
    size_t first = hip.call_count();
    hip.fail("hipFree", KILN_STAND_IN_INVALID_VALUE, 0);
    device->ops->unload(device, loaded.module);
    cr_expect_eq(hip.live_modules(), 1, "unloaded while a kernel may run");
    hip.fail("hipFree", 0, 0);
    device->ops->unload(device, loaded.module);
    cr_expect_eq(hip.live_modules(), 0);
    gpu_expect_trace(&hip, first,
                     "hipGetDevice hipThreadExchangeStreamCaptureMode hipMalloc hipFree "
                     "hipThreadExchangeStreamCaptureMode "
                     "hipGetDevice hipThreadExchangeStreamCaptureMode hipMalloc hipFree "
                     "hipModuleUnload hipThreadExchangeStreamCaptureMode ");
    kiln_device_close(device);
}

Test(hip_device, unloading_leaves_captures_of_other_threads_alone)
{
    struct kiln_device *device = gpu_open("hip");
    gpu_expect_unload_spares_captures(&hip, device);
    kiln_device_close(device);
}

Test(hip_device, moves_memory)
{
    struct kiln_device *device = gpu_open("hip");
    void *memory = NULL;
    cr_assert_eq(device->ops->allocate(device, 16, &memory, &error), KILN_OK);
    gpu_expect_copies_arrive(device, memory);
    cr_expect_eq(gpu_first_call(&hip, "hipMemcpy")->arguments[3], 1);
    cr_expect_eq(stand_in_find(&hip, "hipMemcpy", 1)->arguments[3], 2);
    int stream = 0;
    cr_expect_eq(device->ops->synchronize(device, &stream, &error), KILN_OK);
    cr_expect_eq(gpu_first_call(&hip, "hipStreamSynchronize")->arguments[0],
                 (uint64_t)(uintptr_t)&stream);
    device->ops->release(device, memory);
    cr_expect_eq(hip.live_allocations(), 0);

    hip.fail("hipMalloc", KILN_STAND_IN_OUT_OF_MEMORY, 0);
    cr_expect_eq(device->ops->allocate(device, 16, &memory, &error), KILN_NO_MEMORY);
    cr_expect_not_null(strstr(error.text, "16 bytes"));
    hip.fail("hipStreamSynchronize", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_expect_eq(device->ops->synchronize(device, NULL, &error), KILN_DEVICE);
    kiln_device_close(device);
}

Test(hip_device, copies_within_the_device_on_a_stream)
{
    struct kiln_device *device = gpu_open("hip");
    void *one = gpu_allocate_text(device, "fifteen letters");
    void *other = gpu_allocate_text(device, "");
    int stream = 0;
    size_t first = hip.call_count();
    cr_expect_eq(device->ops->copy_within(device, &stream, other, one, 16, &error), KILN_OK);
    cr_expect_eq(device->ops->copy_within(device, &stream, other, one, 0, &error), KILN_OK);
    gpu_expect_trace(&hip, first, "hipGetDevice hipMemcpyDtoDAsync ");
    const uint64_t expected[] = {(uint64_t)(uintptr_t)other, (uint64_t)(uintptr_t)one, 16,
                                 (uint64_t)(uintptr_t)&stream};
    cr_expect_arr_eq(gpu_first_call(&hip, "hipMemcpyDtoDAsync")->arguments, expected,
                     sizeof(expected));
    cr_expect_str_eq(other, "fifteen letters");
    hip.fail("hipMemcpyDtoDAsync", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_expect_eq(device->ops->copy_within(device, NULL, other, one, 16, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "copying 16 bytes within the device failed: invalid argument "
                                 "(HIP error 1)");
    device->ops->release(device, one);
    device->ops->release(device, other);
    kiln_device_close(device);
}

Test(hip_device, describes_its_memory)
{
    hip.set_device(1);
    struct kiln_device *device = gpu_open("hip");
    hip.set_device(0);
    struct kiln_device_memory memory = {0};
    cr_expect_eq(device->ops->describe_memory(device, &memory, &error), KILN_OK);
    cr_expect_eq(memory.free_bytes, KILN_STAND_IN_FREE_BYTES);
    cr_expect_geq(memory.cache_bytes, 256u << 20, "no less than the largest there is");
    cr_expect_eq(gpu_first_call(&hip, "hipMemGetInfo")->device, 1);
    hip.fail("hipMemGetInfo", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_expect_eq(device->ops->describe_memory(device, &memory, &error), KILN_DEVICE);
    kiln_device_close(device);
}

Test(hip_device, times_by_events_of_its_own_device)
{
    hip.set_device(1);
    struct kiln_device *device = gpu_open("hip");
    hip.set_device(0);
    struct kiln_device_event *events[2];
    int stream = 0;
    gpu_expect_events_time(device, &stream,
                           "asking for the time between two events failed: invalid resource handle "
                           "(HIP error 400)",
                           events);
    cr_expect_eq(gpu_first_call(&hip, "hipEventRecord")->arguments[1],
                 (uint64_t)(uintptr_t)&stream);
    cr_expect_eq(gpu_first_call(&hip, "hipEventRecord")->device, 1);
    cr_expect_eq(gpu_first_call(&hip, "hipEventSynchronize")->arguments[0],
                 (uint64_t)(uintptr_t)events[1]);
    gpu_expect_events_end(&hip, device, events);
    kiln_device_close(device);
}

Test(hip_device, errors_of_events_are_sentences)
{
    struct kiln_device *device = gpu_open("hip");
    struct kiln_device_event *event = NULL;
    hip.fail("hipEventCreate", KILN_STAND_IN_OUT_OF_MEMORY, 0);
    cr_expect_eq(device->ops->event_create(device, &event, &error), KILN_NO_MEMORY);
    cr_expect_null(event);
    hip.fail("hipEventRecord", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_assert_eq(device->ops->event_create(device, &event, &error), KILN_OK);
    cr_expect_eq(device->ops->event_record(device, event, NULL, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "recording an event on HIP device 0 failed: invalid argument "
                                 "(HIP error 1)");
    hip.fail("hipEventSynchronize", KILN_STAND_IN_INVALID_VALUE, 0);
    double seconds = 0;
    cr_expect_eq(device->ops->event_elapsed(device, event, event, &seconds, &error), KILN_DEVICE);
    cr_expect_not_null(strstr(error.text, "waiting for an event"));
    hip.fail("hipEventDestroy", KILN_STAND_IN_INVALID_VALUE, 0);
    device->ops->event_destroy(device, event);
    cr_expect_eq(hip.live_events(), 1);
    hip.fail("hipEventDestroy", 0, 0);
    device->ops->event_destroy(device, event);
    cr_expect_eq(hip.live_events(), 0);
    kiln_device_close(device);
}
