/*
 * The host device: work-groups, barriers, local memory, cross-lane exchange and threads. The
 * kernels are host_kernels.cpp.
 */
#include "runtime/device/host_device.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { BLOCK = 128, WAVE = 32 };

static struct kiln_error error;
static unsigned char code[8 << 20];
static size_t code_bytes;

static void read_kernels(void)
{
    kiln_error_init(&error);
    FILE *file = fopen(KILN_TEST_HOST_KERNELS, "rb");
    cr_assert_not_null(file);
    code_bytes = fread(code, 1, sizeof code, file);
    fclose(file);
    cr_assert(code_bytes > 0 && code_bytes < sizeof code);
}

TestSuite(host_device, .init = read_kernels);

static struct kiln_device *open_host(void)
{
    struct kiln_device *device = NULL;
    enum kiln_status status = kiln_host_device_ops.open(&kiln_host_device_ops, &device, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    return device;
}

struct kernel {
    struct kiln_device_module *module;
    struct kiln_device_function *function;
};

static struct kernel load(struct kiln_device *device, const char *symbol, uint32_t lds_bytes,
                          bool uses_barrier)
{
    struct kernel kernel = {NULL, NULL};
    enum kiln_status status =
        device->ops->load(device, code, code_bytes, symbol, lds_bytes, uses_barrier, &kernel.module,
                          &kernel.function, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    return kernel;
}

static enum kiln_status launch(struct kiln_device *device, struct kernel kernel, uint32_t x,
                               uint32_t y, uint32_t z, const void *arguments, uint32_t bytes)
{
    struct kiln_launch launch = {
        .function = kernel.function,
        .grid = {x, y, z},
        .block = {BLOCK, 1, 1},
        .kernarg = arguments,
        .kernarg_bytes = bytes,
    };
    return device->ops->launch(device, NULL, &launch, &error);
}

static void *allocate(struct kiln_device *device, size_t bytes)
{
    void *pointer = NULL;
    cr_assert_eq(device->ops->allocate(device, bytes, &pointer, &error), KILN_OK);
    cr_assert_eq((uintptr_t)pointer % 256, 0);
    return pointer;
}

Test(host_device, describes_itself)
{
    struct kiln_device *device = open_host();
    cr_expect_eq(device->target.kind, KILN_TARGET_HOST);
    cr_expect_not(device->needs_vector_alignment);
    cr_expect_eq(device->ordinal, 0);
    device->ops->close(device);
    kiln_host_device_ops.close(NULL);
}

Test(host_device, runs_every_group_of_a_grid_in_three_directions)
{
    enum { X = 3, Y = 5, Z = 7, COUNT = X * Y * Z * BLOCK * 4 };
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "scale", 0, false);
    float *values = malloc(COUNT * sizeof *values);
    float *from = allocate(device, COUNT * sizeof *from);
    float *to = allocate(device, COUNT * sizeof *to);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    cr_assert_eq(device->ops->copy_in(device, from, values, COUNT * sizeof *values, &error),
                 KILN_OK);
    /* Arguments need no alignment. */
    struct {
        char odd;
        unsigned char bytes[24];
    } packed;
    float factor = 3;
    memcpy(packed.bytes, &from, 8);
    memcpy(packed.bytes + 8, &to, 8);
    memcpy(packed.bytes + 16, &factor, 4);
    cr_assert_eq(launch(device, kernel, X, Y, Z, packed.bytes, 24), KILN_OK, "%s", error.text);
    cr_assert_eq(device->ops->synchronize(device, NULL, &error), KILN_OK);
    cr_assert_eq(device->ops->copy_out(device, values, to, COUNT * sizeof *values, &error),
                 KILN_OK);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(values[i], 3.0f * (float)i, "element %d", i);
    device->ops->release(device, from);
    device->ops->release(device, to);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
    free(values);
}

static void expect_reversed(struct kiln_device *device, struct kernel kernel, uint32_t groups)
{
    size_t count = (size_t)groups * BLOCK;
    float *from = allocate(device, count * sizeof *from);
    float *to = allocate(device, count * sizeof *to);
    for (size_t i = 0; i < count; i++)
        from[i] = (float)(i % 1000003);
    const void *arguments[] = {from, to};
    cr_assert_eq(launch(device, kernel, groups, 1, 1, arguments, sizeof arguments), KILN_OK, "%s",
                 error.text);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(to[i], from[i / BLOCK * BLOCK + (BLOCK - 1 - i % BLOCK)], "element %zu", i);
    device->ops->release(device, from);
    device->ops->release(device, to);
}

Test(host_device, barriers_separate_writes_and_reads_of_local_memory)
{
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "reverse", BLOCK * 8, true);
    expect_reversed(device, kernel, 1);
    expect_reversed(device, kernel, 1000);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}

#define EXPECT_WAVE_SUM(scalar, type)                                                              \
    do {                                                                                           \
        struct kernel kernel = load(device, "wave_sum_" #scalar, 0, true);                         \
        type *from = allocate(device, COUNT * sizeof *from);                                       \
        type *to = allocate(device, COUNT * sizeof *to);                                           \
        for (int i = 0; i < COUNT; i++)                                                            \
            from[i] = (type)(i * 3 % 1009);                                                        \
        const void *arguments[] = {from, to};                                                      \
        cr_assert_eq(launch(device, kernel, GROUPS, 1, 1, arguments, sizeof arguments), KILN_OK);  \
        for (int i = 0; i < COUNT; i++) {                                                          \
            type sum = 0;                                                                          \
            for (int lane = 0; lane < WAVE; lane++)                                                \
                sum = (type)(sum + from[i / WAVE * WAVE + lane]);                                  \
            cr_assert_eq(to[i], sum, #scalar " element %d", i);                                    \
        }                                                                                          \
        device->ops->release(device, from);                                                        \
        device->ops->release(device, to);                                                          \
        device->ops->unload(device, kernel.module);                                                \
    } while (0)

Test(host_device, lanes_of_a_wave_exchange_values_of_every_scalar_type)
{
    enum { GROUPS = 9, COUNT = GROUPS * BLOCK };
    struct kiln_device *device = open_host();
    EXPECT_WAVE_SUM(i32, int);
    EXPECT_WAVE_SUM(i64, long long);
    EXPECT_WAVE_SUM(f32, float);
    EXPECT_WAVE_SUM(f64, double);

    struct kernel kernel = load(device, "wave_any", 0, true);
    int from[BLOCK] = {[40] = 101, [127] = 100};
    int to[BLOCK];
    const void *arguments[] = {from, to};
    cr_assert_eq(launch(device, kernel, 1, 1, 1, arguments, sizeof arguments), KILN_OK);
    for (int i = 0; i < BLOCK; i++)
        cr_assert_eq(to[i], i == 32, "element %d", i);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}

Test(host_device, waves_may_differ_and_work_items_may_end_early)
{
    enum { GROUPS = 50 };
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "uneven", BLOCK / WAVE * 4, true);
    static int from[GROUPS * BLOCK], to[GROUPS * WAVE];
    for (int i = 0; i < GROUPS * BLOCK; i++)
        from[i] = i * 7919 % 10007;
    const void *arguments[] = {from, to};
    cr_assert_eq(launch(device, kernel, GROUPS, 1, 1, arguments, sizeof arguments), KILN_OK);
    for (int i = 0; i < GROUPS * WAVE; i++) {
        int largest = 0;
        for (int k = 0; k < BLOCK; k++) {
            int candidate = from[i / WAVE * BLOCK + k];
            largest = candidate > largest ? candidate : largest;
        }
        cr_assert_eq(to[i], largest, "element %d", i);
    }
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}

Test(host_device, one_thread_is_enough)
{
    setenv("KILN_HOST_THREADS", "1", 1);
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "reverse", BLOCK * 8, true);
    expect_reversed(device, kernel, 37);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}

#if defined(__SSE2__)
Test(host_device, denormals_survive_whatever_the_caller_has_set)
{
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "halve", 0, false);
    float from[BLOCK], to[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        from[i] = 0x1p-130f;
    const void *arguments[] = {from, to};
    unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040); /* flush to zero, denormals are zero */
    enum kiln_status status = launch(device, kernel, 1, 1, 1, arguments, sizeof arguments);
    unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    cr_assert_eq(status, KILN_OK);
    cr_expect_eq(after & 0x8040, 0x8040);
    for (int i = 0; i < BLOCK; i++)
        cr_assert_eq(memcmp(&to[i], &(float){0x1p-131f}, sizeof(float)), 0);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}
#endif

/* Each has its own statics and can be unloaded while others stay. */
Test(host_device, loads_the_same_code_any_number_of_times)
{
    enum { COUNT = 300 };
    static struct kernel kernels[COUNT];
    struct kiln_device *device = open_host();
    for (int i = 0; i < COUNT; i++) {
        kernels[i] = load(device, "reverse", BLOCK * 8, true);
        for (int k = 0; k < i; k++)
            cr_assert_neq(*(void **)kernels[k].function, *(void **)kernels[i].function);
    }
    for (int i = 0; i < COUNT; i += 2)
        device->ops->unload(device, kernels[i].module);
    expect_reversed(device, kernels[1], 3);
    for (int i = 1; i < COUNT; i += 2)
        device->ops->unload(device, kernels[i].module);
    device->ops->close(device);
}

static void expect_refused(const void *bytes, size_t size, const char *symbol,
                           enum kiln_status expected)
{
    struct kiln_device *device = open_host();
    struct kernel kernel = {NULL, NULL};
    enum kiln_status status = device->ops->load(device, bytes, size, symbol, 0, false,
                                                &kernel.module, &kernel.function, &error);
    cr_expect_eq(status, expected, "%s", error.text);
    cr_expect_null(kernel.module);
    cr_expect_neq(error.text[0], '\0');
    device->ops->close(device);
}

Test(host_device, refuses_what_is_no_kernel)
{
    expect_refused("no code", 7, "scale", KILN_REFUSED);
    expect_refused(code, 0, "scale", KILN_REFUSED);
    expect_refused(code, 100, "scale", KILN_REFUSED);
    expect_refused(code, code_bytes, "no_such_kernel", KILN_NOT_FOUND);
    char long_name[400];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    expect_refused(code, code_bytes, long_name, KILN_BAD_ARGUMENT);
}

/* Memory files count too; no signal comes. */
Test(host_device, size_limit_of_the_process_is_an_error)
{
    const struct rlimit limit = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_refused(code, code_bytes, "reverse", KILN_IO);
    cr_expect(strstr(error.text, strerror(EFBIG)), "%s", error.text);
}

#if !defined(__SANITIZE_ADDRESS__)
Test(host_device, refuses_sanitized_code_outside_of_the_sanitizer)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    cr_skip_test("this process runs under address sanitizer");
#endif
#endif
    static const char text[] = "...__asan_init...";
    expect_refused(text, sizeof text, "scale", KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(error.text, "LD_PRELOAD"), "%s", error.text);
}
#endif

Test(host_device, refuses_launches_that_do_not_fit_the_kernel)
{
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "scale", 0, false);
    const void *arguments[3] = {NULL, NULL, NULL};
    struct kiln_launch launch = {
        .function = kernel.function,
        .grid = {1, 1, 1},
        .block = {BLOCK / 2, 1, 1},
        .kernarg = arguments,
        .kernarg_bytes = sizeof arguments,
    };
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_BAD_ARGUMENT);
    launch.block[0] = BLOCK;
    launch.block[1] = 2;
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_BAD_ARGUMENT);
    launch.block[1] = 1;
    launch.kernarg_bytes = 16;
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_BAD_ARGUMENT);
    launch.kernarg_bytes = sizeof arguments;
    launch.grid[1] = 0;
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_BAD_ARGUMENT);
    launch.grid[0] = launch.grid[1] = launch.grid[2] = UINT32_MAX;
    cr_expect_eq(device->ops->launch(device, NULL, &launch, &error), KILN_BAD_ARGUMENT);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}

/* The thread sanitizer forbids threads after such a fork; of the address sanitizer's own locks a
 * child may find one taken. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
/* The device's threads stay in the parent. */
Test(host_device, goes_on_in_a_forked_child)
{
    enum { GROUPS = 64, COUNT = GROUPS * BLOCK * 4, CHILD_SECONDS = 20 };
    cr_assert_eq(setenv("KILN_HOST_THREADS", "4", 1), 0);
    struct kiln_device *device = open_host();
    struct kernel kernel = load(device, "scale", 0, false);
    float *from = allocate(device, COUNT * sizeof *from);
    float *to = allocate(device, COUNT * sizeof *to);
    for (int i = 0; i < COUNT; i++)
        from[i] = 1;
    float factor = 3;
    unsigned char arguments[24] = {0};
    memcpy(arguments, &from, 8);
    memcpy(arguments + 8, &to, 8);
    memcpy(arguments + 16, &factor, 4);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(launch(device, kernel, GROUPS, 1, 1, arguments, 24), KILN_OK);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        bool is_right = true;
        for (int i = 0; i < 3; i++) {
            memset(to, 0, COUNT * sizeof *to);
            is_right = is_right && launch(device, kernel, GROUPS, 1, 1, arguments, 24) == KILN_OK &&
                       to[0] == 3 && to[COUNT - 1] == 3;
        }
        device->ops->close(device);
        _exit(is_right ? 0 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    cr_expect_eq(launch(device, kernel, GROUPS, 1, 1, arguments, 24), KILN_OK);
    device->ops->release(device, from);
    device->ops->release(device, to);
    device->ops->unload(device, kernel.module);
    device->ops->close(device);
}
#endif

Test(host_device, copies_within_its_memory_and_describes_it)
{
    struct kiln_device *device = open_host();
    char *one = allocate(device, 16);
    char *other = allocate(device, 16);
    memcpy(one, "fifteen letters", 16);
    cr_expect_eq(device->ops->copy_within(device, NULL, other, one, 16, &error), KILN_OK);
    cr_expect_str_eq(other, "fifteen letters");
    device->ops->release(device, one);
    device->ops->release(device, other);
    struct kiln_device_memory memory = {0};
    cr_expect_eq(device->ops->describe_memory(device, &memory, &error), KILN_OK);
    cr_expect_gt(memory.free_bytes, 0);
    cr_expect_geq(memory.cache_bytes, 1 << 16);
    kiln_device_close(device);
}

Test(host_device, events_follow_the_clock)
{
    struct kiln_device *device = open_host();
    struct kiln_device_event *events[3] = {NULL, NULL, NULL};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(device->ops->event_create(device, &events[i], &error), KILN_OK);
        cr_expect_eq(device->ops->event_record(device, events[i], NULL, &error), KILN_OK);
        /* The clock must have moved before the next. */
        cr_assert_eq(usleep(1000), 0);
    }
    double first = 0;
    double second = 0;
    double both = 0;
    cr_expect_eq(device->ops->event_elapsed(device, events[0], events[1], &first, &error), KILN_OK);
    cr_expect_eq(device->ops->event_elapsed(device, events[1], events[2], &second, &error),
                 KILN_OK);
    cr_expect_eq(device->ops->event_elapsed(device, events[0], events[2], &both, &error), KILN_OK);
    cr_expect_geq(first, 1e-3, "sleeping lasts as long as asked for at least");
    cr_expect_geq(second, 1e-3);
    cr_expect_float_eq(both, first + second, 1e-8);
    for (size_t i = 0; i < 3; i++)
        device->ops->event_destroy(device, events[i]);
    device->ops->event_destroy(device, NULL);
    kiln_device_close(device);
}
