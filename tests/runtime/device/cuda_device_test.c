/*
 * The cuda device against the stand-in: which functions of the driver are called in which order,
 * with which arguments, and what becomes of their errors.
 */
#include "runtime/device/cuda_device.h"
#include "tests/runtime/device/gpu_fixture.h"
#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct cuda_stand_in cuda;
static struct kiln_error error;

static void set_up(void)
{
    cuda = cuda_stand_in_open();
    kiln_error_init(&error);
}

TestSuite(cuda_device, .init = set_up);

Test(cuda_device, opens_the_first_device_without_a_context)
{
    struct kiln_device *device = gpu_open("cuda");
    cr_expect_eq(device->ordinal, 0);
    cr_expect_str_eq(device->target.name, "sm_90");
    cr_expect_eq(device->target.kind, KILN_TARGET_CUDA);
    cr_expect_eq(device->target.wave_size, 32);
    cr_expect(device->needs_vector_alignment);
    cr_expect_eq(cuda.live_contexts(), 1);
    kiln_device_close(device);
    cr_expect_eq(cuda.live_contexts(), 0);
}

Test(cuda_device, opens_the_device_of_the_current_context)
{
    cr_assert_eq(cuda.init(0), 0);
    cuda.set_current(cuda.context(1));
    cuda.set_capability(12, 0);
    struct kiln_device *device = gpu_open("cuda");
    cr_expect_eq(device->ordinal, 1);
    cr_expect_str_eq(device->target.name, "sm_120");
    cr_expect_eq(gpu_first_call(&cuda.base, "cuDevicePrimaryCtxRetain")->arguments[0], 1);
    int current = -1;
    cuda.set_current(cuda.context(0));
    cr_expect_eq(device->ops->current_ordinal(device, &current, &error), KILN_OK);
    cr_expect_eq(current, 0);
    kiln_device_close(device);
}

static void expect_open_fails(enum kiln_status expected, const char *part)
{
    gpu_expect_open_fails("cuda", expected, part);
    cr_expect_eq(cuda.live_contexts(), 0);
}

Test(cuda_device, says_which_processor_it_does_not_know)
{
    cuda.set_capability(3, 5);
    expect_open_fails(KILN_DEVICE, "an 'sm_35', which Kiln has no target for");
}

Test(cuda_device, no_gpu_is_unsupported_and_a_failing_one_is_not)
{
    cuda.base.set_device_count(0);
    expect_open_fails(KILN_UNSUPPORTED, "no NVIDIA GPU");
    cuda.base.set_device_count(1);
    static const char *const functions[] = {"cuInit", "cuDeviceGetCount", "cuCtxGetCurrent",
                                            "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        cuda.base.fail(functions[i], KILN_STAND_IN_INVALID_VALUE, 0);
        expect_open_fails(KILN_DEVICE, "invalid argument (CUDA error 1)");
    }
    cuda.base.fail("cuInit", 999, 0);
    expect_open_fails(KILN_DEVICE, "no text (CUDA error 999)");
}

Test(cuda_device, library_that_is_not_there_is_named)
{
    setenv("KILN_CUDA_LIBRARY", "libno_such_cuda.so", 1);
    expect_open_fails(KILN_UNSUPPORTED, "'libno_such_cuda.so'");
    setenv("KILN_CUDA_LIBRARY", "libm.so.6", 1);
    expect_open_fails(KILN_UNSUPPORTED, "no function 'cuInit'");
}

Test(cuda_device, loads_launches_and_unloads_in_its_own_context)
{
    struct kiln_device *device = gpu_open("cuda");
    size_t first = cuda.base.call_count();
    struct gpu_loaded loaded = gpu_load(device);
    gpu_expect_trace(&cuda.base, first,
                     "cuCtxGetCurrent cuCtxSetCurrent cuModuleLoadData cuModuleGetFunction "
                     "cuFuncGetAttribute cuCtxSetCurrent ");
    cr_expect_eq(gpu_first_call(&cuda.base, "cuModuleLoadData")->arguments[1],
                 (uint64_t)(uintptr_t)gpu_code_object);
    cr_expect_str_eq(gpu_first_call(&cuda.base, "cuModuleGetFunction")->symbol, "kernel");
    void *current = device;
    cr_expect_eq(cuda.get_current(&current), 0);
    cr_expect_null(current, "the thread had no context");

    gpu_expect_launch_arrives(&cuda.base, device, &loaded, "cuLaunchKernel");
    cr_expect_eq(gpu_first_call(&cuda.base, "cuLaunchKernel")->device, 0);

    cr_expect_eq(cuda.base.live_modules(), 1);
    device->ops->unload(device, loaded.module);
    cr_expect_eq(cuda.base.live_modules(), 0);
    kiln_device_close(device);
}

Test(cuda_device, kernels_that_spill_are_told_of)
{
    captured_log_start(KILN_LOG_WARN);
    struct kiln_device *device = gpu_open("cuda");
    device->ops->unload(device, gpu_load(device).module);
    cr_expect_eq(captured_log_count(KILN_LOG_WARN), 0);
    cuda.set_local_bytes(24);
    device->ops->unload(device, gpu_load(device).module);
    cr_expect_str_eq(captured_log_last(), "kernel 'kernel' keeps 24 bytes per work-item in memory");
    kiln_device_close(device);
}

Test(cuda_device, more_local_memory_than_a_kernel_may_declare_is_asked_for)
{
    enum { DECLARED_AT_MOST = 48 << 10, ASKED_FOR = 192 << 10 };
    struct kiln_device *device = gpu_open("cuda");
    struct gpu_loaded loaded = {0};
    cr_assert_eq(device->ops->load(device, gpu_code_object, strlen(gpu_code_object) + 1, "kernel",
                                   DECLARED_AT_MOST, true, &loaded.module, &loaded.function,
                                   &error),
                 KILN_OK, "%s", error.text);
    struct kiln_launch launch = gpu_launch_of(&loaded);
    launch.lds_bytes = DECLARED_AT_MOST;
    cr_assert_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(gpu_first_call(&cuda.base, "cuLaunchKernel")->arguments[7], 0);
    device->ops->unload(device, loaded.module);
    kiln_device_close(device);

    cuda.base.reset();
    device = gpu_open("cuda");
    cr_assert_eq(device->ops->load(device, gpu_code_object, strlen(gpu_code_object) + 1, "kernel",
                                   ASKED_FOR, true, &loaded.module, &loaded.function, &error),
                 KILN_OK, "%s", error.text);
    cr_expect_eq(gpu_first_call(&cuda.base, "cuFuncSetAttribute")->arguments[2], ASKED_FOR);
    launch = gpu_launch_of(&loaded);
    launch.lds_bytes = ASKED_FOR;
    cr_assert_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(gpu_first_call(&cuda.base, "cuLaunchKernel")->arguments[7], ASKED_FOR);
    device->ops->unload(device, loaded.module);

    cuda.base.fail("cuFuncSetAttribute", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_expect_eq(device->ops->load(device, gpu_code_object, strlen(gpu_code_object) + 1, "kernel",
                                   ASKED_FOR, true, &loaded.module, &loaded.function, &error),
                 KILN_REFUSED, "a GPU that has less");
    cr_expect_eq(cuda.base.live_modules(), 0);
    kiln_device_close(device);
}

Test(cuda_device, needs_no_switch_where_its_context_is_current)
{
    struct kiln_device *device = gpu_open("cuda");
    struct gpu_loaded loaded = gpu_load(device);
    const struct kiln_launch launch = gpu_launch_of(&loaded);
    cuda.set_current(cuda.context(0));
    size_t first = cuda.base.call_count();
    cr_assert_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK, "%s", error.text);
    gpu_expect_trace(&cuda.base, first, "cuCtxGetCurrent cuLaunchKernel ");
    cuda.set_current(cuda.context(1));
    cr_assert_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK, "%s", error.text);
    void *current = NULL;
    cr_expect_eq(cuda.get_current(&current), 0);
    cr_expect_eq(current, cuda.context(1), "the caller's context is current again");
    device->ops->unload(device, loaded.module);
    kiln_device_close(device);
}

Test(cuda_device, load_errors_are_sentences_and_leave_nothing)
{
    struct kiln_device *device = gpu_open("cuda");
    gpu_expect_load_fails(device, "no code object", KILN_REFUSED,
                          "loading the code object of kernel 'kernel' failed: device kernel "
                          "image is invalid (CUDA error 200)");
    cuda.base.fail("cuModuleGetFunction", KILN_STAND_IN_NOT_FOUND, 0);
    gpu_expect_load_fails(device, gpu_code_object, KILN_REFUSED,
                          "finding kernel 'kernel' in its code object failed: named symbol "
                          "not found (CUDA error 500)");
    cr_expect_eq(cuda.base.live_modules(), 0);
    kiln_device_close(device);
}

Test(cuda_device, a_lost_device_does_not_refuse_the_code_object)
{
    struct kiln_device *device = gpu_open("cuda");
    cuda.base.fail("cuModuleLoadData", KILN_STAND_IN_LAUNCH_FAILURE, 0);
    gpu_expect_load_fails(device, gpu_code_object, KILN_DEVICE,
                          "loading the code object of kernel 'kernel' failed: unspecified launch "
                          "failure (CUDA error 719)");
    kiln_device_close(device);
}

Test(cuda_device, launch_errors_are_reported_at_the_launch)
{
    struct kiln_device *device = gpu_open("cuda");
    struct gpu_loaded loaded = gpu_load(device);
    const struct kiln_launch launch = gpu_launch_of(&loaded);
    cuda.base.fail("cuLaunchKernel", KILN_STAND_IN_INVALID_VALUE, 1);
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK);
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "launching a kernel on CUDA device 0 failed: invalid argument "
                                 "(CUDA error 1)");
    device->ops->unload(device, loaded.module);
    kiln_device_close(device);
}

Test(cuda_device, waits_for_kernels_before_it_unloads)
{
    struct kiln_device *device = gpu_open("cuda");
    struct gpu_loaded loaded = gpu_load(device);
    cuda.base.fail("cuMemFree", KILN_STAND_IN_INVALID_VALUE, 0);
    device->ops->unload(device, loaded.module);
    cr_expect_eq(cuda.base.live_modules(), 1, "unloaded while a kernel may run");
    cuda.base.fail("cuMemFree", 0, 0);
    size_t first = cuda.base.call_count();
    device->ops->unload(device, loaded.module);
    cr_expect_eq(cuda.base.live_modules(), 0);
    gpu_expect_trace(&cuda.base, first,
                     "cuCtxGetCurrent cuCtxSetCurrent cuThreadExchangeStreamCaptureMode "
                     "cuMemAlloc cuMemFree cuModuleUnload cuThreadExchangeStreamCaptureMode "
                     "cuCtxSetCurrent ");
    kiln_device_close(device);
}

Test(cuda_device, unloading_leaves_captures_of_other_threads_alone)
{
    struct kiln_device *device = gpu_open("cuda");
    gpu_expect_unload_spares_captures(&cuda.base, device);
    kiln_device_close(device);
}

Test(cuda_device, moves_memory)
{
    struct kiln_device *device = gpu_open("cuda");
    void *memory = NULL;
    void *nothing = NULL;
    cr_assert_eq(device->ops->allocate(device, 16, &memory, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(device->ops->allocate(device, 0, &nothing, &error), KILN_OK, "%s", error.text);
    cr_expect_not_null(nothing);
    gpu_expect_copies_arrive(device, memory);
    int stream = 0;
    cr_expect_eq(device->ops->synchronize(device, &stream, &error), KILN_OK);
    cr_expect_eq(gpu_first_call(&cuda.base, "cuStreamSynchronize")->arguments[0],
                 (uint64_t)(uintptr_t)&stream);
    device->ops->release(device, memory);
    device->ops->release(device, nothing);
    device->ops->release(device, NULL);
    cr_expect_eq(cuda.base.live_allocations(), 0);

    cuda.base.fail("cuMemAlloc", KILN_STAND_IN_OUT_OF_MEMORY, 0);
    cr_expect_eq(device->ops->allocate(device, 16, &memory, &error), KILN_NO_MEMORY);
    cr_expect_not_null(strstr(error.text, "16 bytes"));
    cuda.base.fail("cuStreamSynchronize", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_expect_eq(device->ops->synchronize(device, NULL, &error), KILN_DEVICE);
    kiln_device_close(device);
}

Test(cuda_device, copies_within_the_device_on_a_stream)
{
    struct kiln_device *device = gpu_open("cuda");
    void *one = gpu_allocate_text(device, "fifteen letters");
    void *other = gpu_allocate_text(device, "");
    int stream = 0;
    size_t first = cuda.base.call_count();
    cr_expect_eq(device->ops->copy_within(device, &stream, other, one, 16, &error), KILN_OK);
    cr_expect_eq(device->ops->copy_within(device, &stream, other, one, 0, &error), KILN_OK);
    gpu_expect_trace(&cuda.base, first,
                     "cuCtxGetCurrent cuCtxSetCurrent cuMemcpyDtoDAsync cuCtxSetCurrent ");
    const uint64_t expected[] = {(uint64_t)(uintptr_t)other, (uint64_t)(uintptr_t)one, 16,
                                 (uint64_t)(uintptr_t)&stream};
    cr_expect_arr_eq(gpu_first_call(&cuda.base, "cuMemcpyDtoDAsync")->arguments, expected,
                     sizeof(expected));
    cr_expect_str_eq(other, "fifteen letters");
    /* Somewhere inside, but not beyond the end. */
    cr_expect_eq(device->ops->copy_within(device, NULL, (char *)other + 8, one, 8, &error),
                 KILN_OK);
    cr_expect_eq(memcmp(other, "fifteen fifteen ", 16), 0);
    cr_expect_eq(device->ops->copy_within(device, NULL, (char *)other + 8, one, 9, &error),
                 KILN_DEVICE);
    cuda.base.fail("cuMemcpyDtoDAsync", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_expect_eq(device->ops->copy_within(device, NULL, other, one, 16, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "copying 16 bytes within the device failed: invalid argument "
                                 "(CUDA error 1)");
    device->ops->release(device, one);
    device->ops->release(device, other);
    kiln_device_close(device);
}

Test(cuda_device, describes_its_memory)
{
    struct kiln_device *device = gpu_open("cuda");
    struct kiln_device_memory memory = {0};
    cr_expect_eq(device->ops->describe_memory(device, &memory, &error), KILN_OK);
    cr_expect_eq(memory.free_bytes, KILN_STAND_IN_FREE_BYTES);
    cr_expect_eq(memory.cache_bytes, 50 << 20);
    cuda.set_cache_bytes(1 << 20);
    cr_expect_eq(device->ops->describe_memory(device, &memory, &error), KILN_OK);
    cr_expect_eq(memory.cache_bytes, 1 << 20);
    static const char *const functions[] = {"cuMemGetInfo", "cuDeviceGetAttribute"};
    for (size_t i = 0; i < 2; i++) {
        cuda.base.fail(functions[i], KILN_STAND_IN_INVALID_VALUE, 0);
        cr_expect_eq(device->ops->describe_memory(device, &memory, &error), KILN_DEVICE);
    }
    kiln_device_close(device);
}

Test(cuda_device, times_by_events)
{
    struct kiln_device *device = gpu_open("cuda");
    struct kiln_device_event *events[2];
    int stream = 0;
    gpu_expect_events_time(device, &stream,
                           "asking for the time between two events failed: invalid resource handle "
                           "(CUDA error 400)",
                           events);
    cr_expect_eq(gpu_first_call(&cuda.base, "cuEventCreate")->arguments[1], 0, "timing is on");
    cr_expect_eq(gpu_first_call(&cuda.base, "cuEventRecord")->arguments[1],
                 (uint64_t)(uintptr_t)&stream);
    cr_expect_eq(gpu_first_call(&cuda.base, "cuEventSynchronize")->arguments[0],
                 (uint64_t)(uintptr_t)events[1]);
    gpu_expect_events_end(&cuda.base, device, events);
    void *current = device;
    cr_expect_eq(cuda.get_current(&current), 0);
    cr_expect_null(current, "the thread had no context");
    kiln_device_close(device);
}

Test(cuda_device, errors_of_events_are_sentences)
{
    struct kiln_device *device = gpu_open("cuda");
    struct kiln_device_event *event = NULL;
    cuda.base.fail("cuEventCreate", KILN_STAND_IN_OUT_OF_MEMORY, 0);
    cr_expect_eq(device->ops->event_create(device, &event, &error), KILN_NO_MEMORY);
    cr_expect_null(event);
    cuda.base.fail("cuEventRecord", KILN_STAND_IN_INVALID_VALUE, 0);
    cr_assert_eq(device->ops->event_create(device, &event, &error), KILN_OK);
    cr_expect_eq(device->ops->event_record(device, event, NULL, &error), KILN_DEVICE);
    cr_expect_str_eq(error.text, "recording an event on CUDA device 0 failed: invalid argument "
                                 "(CUDA error 1)");
    cuda.base.fail("cuEventSynchronize", KILN_STAND_IN_INVALID_VALUE, 0);
    double seconds = 0;
    cr_expect_eq(device->ops->event_elapsed(device, event, event, &seconds, &error), KILN_DEVICE);
    cr_expect_not_null(strstr(error.text, "waiting for an event"));
    captured_log_start(KILN_LOG_WARN);
    cuda.base.fail("cuEventDestroy", KILN_STAND_IN_INVALID_VALUE, 0);
    device->ops->event_destroy(device, event);
    cr_expect_eq(captured_log_count(KILN_LOG_WARN), 1);
    cuda.base.fail("cuEventDestroy", 0, 0);
    device->ops->event_destroy(device, event);
    kiln_device_close(device);
}
