/*
 * Several threads launch kernels on one host device at once: kernels with barriers and with
 * cross-lane exchange, so that work is shared and fibers move between threads. A plain program,
 * because Criterion does not run under thread sanitizer.
 */
#include "runtime/device/host_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 128, WAVE = 32, GROUPS = 8, COUNT = GROUPS * BLOCK, THREADS = 6, ROUNDS = 50 };

struct launcher {
    pthread_t thread;
    struct kiln_device *device;
    struct kiln_device_function *reverse;
    struct kiln_device_function *sum;
    unsigned mistakes;
    float values[COUNT];
    float reversed[COUNT];
    int numbers[COUNT];
    int sums[COUNT];
};

static unsigned launch(struct kiln_device *device, struct kiln_device_function *function,
                       const void *from, void *to)
{
    const void *arguments[] = {from, to};
    struct kiln_launch launch = {
        .function = function,
        .grid = {GROUPS, 1, 1},
        .block = {BLOCK, 1, 1},
        .kernarg = arguments,
        .kernarg_bytes = sizeof arguments,
    };
    struct kiln_error error;
    kiln_error_init(&error);
    return device->ops->launch(device, NULL, &launch, &error) != KILN_OK;
}

static void *launch_repeatedly(void *context)
{
    struct launcher *launcher = context;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            launcher->values[i] = (float)(i + round);
            launcher->numbers[i] = i ^ round;
        }
        launcher->mistakes +=
            launch(launcher->device, launcher->reverse, launcher->values, launcher->reversed);
        launcher->mistakes +=
            launch(launcher->device, launcher->sum, launcher->numbers, launcher->sums);
        for (int i = 0; i < COUNT; i++) {
            int sum = 0;
            for (int lane = 0; lane < WAVE; lane++)
                sum += launcher->numbers[i / WAVE * WAVE + lane];
            launcher->mistakes += launcher->sums[i] != sum;
            launcher->mistakes += launcher->reversed[i] !=
                                  launcher->values[i / BLOCK * BLOCK + (BLOCK - 1 - i % BLOCK)];
        }
    }
    return NULL;
}

static struct kiln_device_module *load(struct kiln_device *device, const void *code, size_t size,
                                       const char *symbol, uint32_t lds_bytes,
                                       struct kiln_device_function **ret_function)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_device_module *module = NULL;
    if (device->ops->load(device, code, size, symbol, lds_bytes, true, &module, ret_function,
                          &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(EXIT_FAILURE);
    }
    return module;
}

int main(void)
{
    static unsigned char code[8 << 20];
    FILE *file = fopen(KILN_TEST_HOST_KERNELS, "rb");
    size_t size = file ? fread(code, 1, sizeof code, file) : 0;
    if (file)
        fclose(file);
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_device *device = NULL;
    setenv("KILN_HOST_THREADS", "4", 1);
    if (kiln_host_device_ops.open(&kiln_host_device_ops, &device, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    struct kiln_device_function *reverse = NULL, *sum = NULL;
    struct kiln_device_module *reverse_module =
        load(device, code, size, "reverse", BLOCK * 8, &reverse);
    struct kiln_device_module *sum_module = load(device, code, size, "wave_sum_i32", 0, &sum);
    static struct launcher launchers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        launchers[i].device = device;
        launchers[i].reverse = reverse;
        launchers[i].sum = sum;
        if (pthread_create(&launchers[i].thread, NULL, launch_repeatedly, &launchers[i]) != 0)
            return EXIT_FAILURE;
    }
    unsigned mistakes = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(launchers[i].thread, NULL);
        mistakes += launchers[i].mistakes;
    }
    device->ops->unload(device, reverse_module);
    device->ops->unload(device, sum_module);
    device->ops->close(device);
    printf("%d threads, %d launches each: %u mistakes\n", THREADS, 2 * ROUNDS, mistakes);
    return mistakes == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
