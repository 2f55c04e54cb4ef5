#include "runtime/device/host_group.h"

#include "runtime/device/host_fiber.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LDS_ALIGNMENT 64

enum item_state {
    READY,
    WAITS_FOR_WAVE,
    WAITS_FOR_GROUP,
    ENDED,
};

struct kiln_host_bench {
    struct kiln_host_group group; /* what the kernel sees */
    struct kiln_host_bench *next;
    const struct kiln_host_work *work;
    struct kiln_fiber_set *fibers;
    uint32_t fiber_count; /* also of states; slots are twice as many */
    unsigned char *states;
};

enum kiln_status kiln_host_bench_create(struct kiln_host_bench **ret_bench,
                                        struct kiln_error *error)
{
    struct kiln_host_bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for a work-group");
    *ret_bench = bench;
    return KILN_OK;
}

void kiln_host_bench_destroy(struct kiln_host_bench *bench)
{
    if (bench == NULL)
        return;
    kiln_fiber_set_destroy(bench->fibers);
    free(bench->states);
    free(bench->group.slots);
    free(bench->group.lds);
    free(bench);
}

struct kiln_host_bench **kiln_host_bench_next(struct kiln_host_bench *bench)
{
    return &bench->next;
}

static enum kiln_status prepare_fibers(struct kiln_host_bench *bench, uint32_t count,
                                       struct kiln_error *error)
{
    if (count <= bench->fiber_count)
        return KILN_OK;
    struct kiln_fiber_set *fibers = NULL;
    enum kiln_status status = kiln_fiber_set_create(count, &fibers, error);
    if (status)
        return status;
    unsigned char *states = calloc(count, 1);
    unsigned long long *slots = calloc((size_t)2 * count, sizeof *slots);
    if (states == NULL || slots == NULL) {
        free(states);
        free(slots);
        kiln_fiber_set_destroy(fibers);
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for %u work-items", count);
    }
    kiln_fiber_set_destroy(bench->fibers);
    free(bench->states);
    free(bench->group.slots);
    bench->fibers = fibers;
    bench->fiber_count = count;
    bench->states = states;
    bench->group.slots = slots;
    return KILN_OK;
}

/* Exactly as much as was promised, so that address sanitizer sees a kernel that takes more. */
static enum kiln_status prepare_lds(struct kiln_host_bench *bench, uint32_t bytes,
                                    struct kiln_error *error)
{
    if (bytes == bench->group.lds_bytes)
        return KILN_OK;
    void *lds = NULL;
    if (bytes != 0 && posix_memalign(&lds, LDS_ALIGNMENT, bytes) != 0)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for %u bytes of local memory",
                              bytes);
    free(bench->group.lds);
    bench->group.lds = lds;
    bench->group.lds_bytes = bytes;
    return KILN_OK;
}

/* The kernel's `wait`: runs on a fiber. */
static void wait_for_others(struct kiln_host_group *group, unsigned item, unsigned span)
{
    struct kiln_host_bench *bench = (struct kiln_host_bench *)group; /* its first member */
    bench->states[item] = span == 0 ? WAITS_FOR_GROUP : WAITS_FOR_WAVE;
    kiln_fiber_suspend(bench->fibers, item);
}

enum kiln_status kiln_host_bench_prepare(struct kiln_host_bench *bench,
                                         const struct kiln_host_work *work,
                                         struct kiln_error *error)
{
    enum kiln_status status = prepare_lds(bench, work->lds_bytes, error);
    if (status == KILN_OK && work->uses_barrier)
        status = prepare_fibers(bench, work->kernel->block, error);
    if (status)
        return status;
    bench->work = work;
    bench->group.wait = work->uses_barrier ? wait_for_others : NULL;
    return KILN_OK;
}

static void run_item(void *context, uint32_t item)
{
    struct kiln_host_bench *bench = context;
    bench->work->kernel->run(bench->work->arguments, &bench->group, item, 1);
}

/*
 * Runs the work-items [first, end) until each has ended or waits for the group. Between, those that
 * wait for the wave go on together when all that still run have come to wait.
 */
static bool run_wave(struct kiln_host_bench *bench, uint32_t first, uint32_t end)
{
    unsigned char *states = bench->states;
    bool someone_waits_for_group = false;
    bool someone_waits_for_wave = true;
    for (bench->group.exchanges = 0; someone_waits_for_wave; bench->group.exchanges++) {
        someone_waits_for_wave = false;
        for (uint32_t item = first; item < end; item++) {
            if (states[item] == READY && kiln_fiber_resume(bench->fibers, item, run_item, bench))
                states[item] = ENDED;
            someone_waits_for_wave |= states[item] == WAITS_FOR_WAVE;
        }
        for (uint32_t item = first; item < end; item++) {
            if (states[item] == WAITS_FOR_WAVE)
                states[item] = READY;
        }
    }
    for (uint32_t item = first; item < end; item++)
        someone_waits_for_group |= states[item] == WAITS_FOR_GROUP;
    return someone_waits_for_group;
}

static void run_in_fibers(struct kiln_host_bench *bench)
{
    const struct kiln_host_kernel *kernel = bench->work->kernel;
    memset(bench->states, READY, kernel->block);
    bool someone_waits = true;
    while (someone_waits) {
        someone_waits = false;
        for (uint32_t first = 0; first < kernel->block; first += kernel->wave_size) {
            uint32_t left = kernel->block - first;
            uint32_t wave = left < kernel->wave_size ? left : kernel->wave_size;
            someone_waits |= run_wave(bench, first, first + wave);
        }
        for (uint32_t item = 0; item < kernel->block; item++) {
            if (bench->states[item] == WAITS_FOR_GROUP)
                bench->states[item] = READY;
        }
    }
}

void kiln_host_bench_run(struct kiln_host_bench *bench, uint64_t index)
{
    const struct kiln_host_work *work = bench->work;
    bench->group.id[0] = (unsigned)(index % work->grid[0]);
    bench->group.id[1] = (unsigned)(index / work->grid[0] % work->grid[1]);
    bench->group.id[2] = (unsigned)(index / work->grid[0] / work->grid[1]);
    if (work->uses_barrier)
        run_in_fibers(bench);
    else
        work->kernel->run(work->arguments, &bench->group, 0, work->kernel->block);
}
