#include "tests/runtime/device/gpu_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

const char *const gpu_code_object = "\177ELF and what follows";

struct kiln_device *gpu_open(const char *kind)
{
    struct kiln_device *device = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_device_open(kind, &device, &error), KILN_OK, "%s", error.text);
    return device;
}

void gpu_expect_open_fails(const char *kind, enum kiln_status expected, const char *part)
{
    struct kiln_device *device = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_eq(kiln_device_open(kind, &device, &error), expected);
    cr_expect_null(device);
    cr_expect_eq(error.status, expected);
    cr_expect_not_null(strstr(error.text, part), "'%s' lacks '%s'", error.text, part);
}

/* `code` with its final NUL. */
static enum kiln_status load(struct kiln_device *device, const char *code,
                             struct gpu_loaded *ret_loaded, struct kiln_error *error)
{
    kiln_error_init(error);
    return device->ops->load(device, code, strlen(code) + 1, "kernel", 0, false,
                             &ret_loaded->module, &ret_loaded->function, error);
}

struct gpu_loaded gpu_load(struct kiln_device *device)
{
    struct gpu_loaded loaded = {0};
    struct kiln_error error;
    cr_assert_eq(load(device, gpu_code_object, &loaded, &error), KILN_OK, "%s", error.text);
    return loaded;
}

void gpu_expect_load_fails(struct kiln_device *device, const char *code, enum kiln_status expected,
                           const char *sentence)
{
    struct gpu_loaded loaded = {0};
    struct kiln_error error;
    cr_expect_eq(load(device, code, &loaded, &error), expected);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_null(loaded.module);
}

struct kiln_launch gpu_launch_of(const struct gpu_loaded *loaded)
{
    return (struct kiln_launch){
        .function = loaded->function, .grid = {1, 1, 1}, .block = {64, 1, 1}, .kernarg = ""};
}

void gpu_expect_launch_arrives(const struct stand_in *driver, struct kiln_device *device,
                               const struct gpu_loaded *loaded, const char *function)
{
    const uint64_t kernarg[3] = {0x1122334455667788, 7, UINT64_MAX};
    int stream = 0;
    const struct kiln_launch launch = {.function = loaded->function,
                                       .grid = {5, 6, 7},
                                       .block = {64, 2, 1},
                                       .kernarg = kernarg,
                                       .kernarg_bytes = sizeof(kernarg)};
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(device->ops->launch(device, &stream, &launch, &error), KILN_OK, "%s", error.text);
    const struct kiln_stand_in_call *call = gpu_first_call(driver, function);
    const uint64_t expected[] = {(uint64_t)(uintptr_t)loaded->function, 5, 6, 7, 64, 2, 1, 0,
                                 (uint64_t)(uintptr_t)&stream};
    cr_expect_arr_eq(call->arguments, expected, sizeof(expected));
    cr_expect_eq(call->kernarg_bytes, sizeof(kernarg));
    cr_expect_arr_eq(call->kernarg, kernarg, sizeof(kernarg));
}

void gpu_expect_unload_spares_captures(const struct stand_in *driver, struct kiln_device *device)
{
    struct gpu_loaded loaded = gpu_load(device);
    driver->begin_capture();
    device->ops->unload(device, loaded.module);
    cr_expect(driver->end_capture(), "the capture was invalidated");
    cr_expect_eq(driver->live_modules(), 0);
    void *memory = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    driver->begin_capture();
    cr_expect_eq(device->ops->allocate(device, 1, &memory, &error), KILN_DEVICE,
                 "the thread's mode is not what it was");
    cr_expect_not(driver->end_capture());
}

void *gpu_allocate_text(struct kiln_device *device, const char *text)
{
    char bytes[16] = "";
    void *memory = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    snprintf(bytes, sizeof(bytes), "%s", text);
    cr_assert_eq(device->ops->allocate(device, 16, &memory, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(device->ops->copy_in(device, memory, bytes, 16, &error), KILN_OK, "%s",
                 error.text);
    return memory;
}

void gpu_expect_copies_arrive(struct kiln_device *device, void *memory)
{
    char text[16] = "fifteen letters";
    char back[16] = "";
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_eq(device->ops->copy_in(device, memory, text, sizeof(text), &error), KILN_OK);
    cr_expect_eq(device->ops->copy_out(device, back, memory, sizeof(text), &error), KILN_OK);
    cr_expect_str_eq(back, text);
}

void gpu_expect_events_time(struct kiln_device *device, void *stream, const char *refusal,
                            struct kiln_device_event *ret_events[2])
{
    struct kiln_error error;
    kiln_error_init(&error);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(device->ops->event_create(device, &ret_events[i], &error), KILN_OK, "%s",
                     error.text);
    double seconds = -1;
    cr_expect_eq(device->ops->event_elapsed(device, ret_events[0], ret_events[1], &seconds, &error),
                 KILN_DEVICE, "events that were never recorded have no time between them");
    cr_expect_str_eq(error.text, refusal);
    cr_expect_eq(seconds, -1);
    for (size_t i = 0; i < 2; i++)
        cr_expect_eq(device->ops->event_record(device, ret_events[i], stream, &error), KILN_OK,
                     "%s", error.text);
    cr_expect_eq(device->ops->event_elapsed(device, ret_events[0], ret_events[1], &seconds, &error),
                 KILN_OK, "%s", error.text);
    cr_expect_float_eq(seconds, (double)KILN_STAND_IN_EVENT_MILLISECONDS * 1e-3, 1e-9);
}

void gpu_expect_events_end(const struct stand_in *driver, struct kiln_device *device,
                           struct kiln_device_event *const events[2])
{
    cr_expect_eq(driver->live_events(), 2);
    for (size_t i = 0; i < 2; i++)
        device->ops->event_destroy(device, events[i]);
    device->ops->event_destroy(device, NULL);
    cr_expect_eq(driver->live_events(), 0);
}

void gpu_expect_trace(const struct stand_in *driver, size_t first, const char *expected)
{
    char text[4096];
    cr_expect_str_eq(stand_in_trace(driver, first, text, sizeof(text)), expected);
}

const struct kiln_stand_in_call *gpu_first_call(const struct stand_in *driver, const char *function)
{
    const struct kiln_stand_in_call *call = stand_in_find(driver, function, 0);
    cr_assert_not_null(call, "'%s' was not called", function);
    return call;
}
