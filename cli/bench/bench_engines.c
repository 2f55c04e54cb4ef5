#include "cli/bench/bench_engines.h"

#include "cli/bench/bench_builder.h"
#include "cli/text.h"
#include "compiler/codegen/compile_environment.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/support/environment.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WARM_UP_ELEMENTS = 1024,
    /* As many as a graph of the suite may have nodes; more workers than that stay cold. */
    MOST_WARM_UP_KERNELS = KILN_BENCH_MAX_NODES,
    USUAL_WORKERS = 2,
};

/* Where the caches lie; in a variable because it must go on every way out of the process. */
static char *directory;

static void remove_directory(void)
{
    kiln_scratch_directory_destroy(directory);
    directory = NULL;
}

static enum kiln_status make_directory(struct kiln_error *error)
{
    static bool is_registered;
    assert(!directory);
    directory = kiln_scratch_directory_create(error);
    if (!directory)
        return error->status;
    if (!is_registered)
        is_registered = atexit(remove_directory) == 0;
    return KILN_OK;
}

struct kiln_lower_options kiln_bench_lower_options(enum kiln_bench_form form,
                                                   const struct kiln_lower_options *lower)
{
    struct kiln_lower_options options = *lower;
    options.no_fusion = form == KILN_BENCH_UNFUSED;
    if (form == KILN_BENCH_ARGUMENT)
        options.shapes = KILN_SHAPES_ARGUMENT;
    return options;
}

/* A graph of as many kernels as there are workers, so that each of them gets one: nothing is shared
 * between outputs of different shapes. */
static enum kiln_status write_warm_up(struct kiln_buffer *bytes, struct kiln_error *error)
{
    uint64_t kernels =
        kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_WORKERS, 1, 256, USUAL_WORKERS);
    if (kernels > MOST_WARM_UP_KERNELS)
        kernels = MOST_WARM_UP_KERNELS;
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_bench_builder builder;
    enum kiln_status status =
        kiln_bench_builder_init(&builder, "warm-up", KILN_DTYPE_F32, &arena, error);
    for (uint64_t i = 0; i < kernels && status == KILN_OK; i++) {
        kiln_bench_set_line(&builder, WARM_UP_ELEMENTS * (int64_t)(i + 1));
        uint32_t value =
            kiln_bench_unary(&builder, KILN_POINTWISE_IDENTITY, kiln_bench_input(&builder, "x"));
        kiln_bench_output(&builder, "y", value);
    }
    if (status == KILN_OK)
        status = kiln_graph_write(&builder.graph, KILN_WIRE_ERA_CURRENT, bytes, error);
    kiln_arena_fini(&arena);
    return status;
}

static enum kiln_status open_engine(struct kiln_engine **engine, const char *device,
                                    const char *cache, enum kiln_bench_form form,
                                    const struct kiln_lower_options *lower,
                                    const struct kiln_buffer *warm_up, struct kiln_error *error)
{
    const struct kiln_engine_options options = {
        .cache_directory = cache,
        .is_cache_isolated = true,
        .device = device,
        .lower = kiln_bench_lower_options(form, lower),
    };
    struct kiln_plan *plan = NULL;
    enum kiln_status status = kiln_engine_create(&options, engine, error);
    if (status == KILN_OK)
        status = kiln_plan_create(*engine, warm_up->data, warm_up->size, &plan, error);
    kiln_plan_unref(plan);
    return status;
}

enum kiln_status kiln_bench_engines_init(struct kiln_bench_engines *engines, const char *device,
                                         const struct kiln_lower_options *lower, uint32_t forms,
                                         struct kiln_error *error)
{
    static const char *const names[] = {"fused", "unfused", "argument"};
    *engines = (struct kiln_bench_engines){.copying = NULL};
    char cache[PATH_MAX];
    struct kiln_buffer warm_up;
    kiln_buffer_init(&warm_up);
    enum kiln_status status = write_warm_up(&warm_up, error);
    if (status == KILN_OK)
        status = make_directory(error);
    /* The reading ones after the compiling ones, whose entries they find. The forms apart: they may
     * have kernels in common, which each is to compile. */
    for (int i = 0; i < 2 * KILN_BENCH_FORM_COUNT && status == KILN_OK; i++) {
        enum kiln_bench_form form = (enum kiln_bench_form)(i % KILN_BENCH_FORM_COUNT);
        if (((forms >> form) & 1u) == 0)
            continue;
        struct kiln_engine **group =
            i < KILN_BENCH_FORM_COUNT ? engines->compiling : engines->reading;
        (void)snprintf(cache, sizeof(cache), "%s/%s", directory, names[form]);
        status = open_engine(&group[form], device, cache, form, lower, &warm_up, error);
    }
    if (status == KILN_OK) {
        (void)snprintf(cache, sizeof(cache), "%s/copies", directory);
        status =
            open_engine(&engines->copying, device, cache, KILN_BENCH_FUSED, lower, &warm_up, error);
    }
    kiln_buffer_fini(&warm_up);
    return status;
}

void kiln_bench_engines_fini(struct kiln_bench_engines *engines)
{
    for (int form = 0; form < KILN_BENCH_FORM_COUNT; form++) {
        kiln_engine_unref(engines->compiling[form]);
        kiln_engine_unref(engines->reading[form]);
    }
    kiln_engine_unref(engines->copying);
    *engines = (struct kiln_bench_engines){.copying = NULL};
    remove_directory();
}

/* Makes the plan; `ret_seconds` is set when it came from where it was expected to. */
static enum kiln_status time_plan(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                  enum kiln_program_origin expected, struct kiln_plan **ret_plan,
                                  double *ret_seconds, struct kiln_error *error)
{
    uint64_t start_ns = kiln_clock_ns();
    enum kiln_status status = kiln_plan_create(engine, graph_bytes, size, ret_plan, error);
    uint64_t duration_ns = kiln_clock_ns() - start_ns;
    if (status == KILN_OK && kiln_plan_origin(*ret_plan) == expected)
        *ret_seconds = 1e-9 * (double)duration_ns;
    return status;
}

enum kiln_status kiln_bench_compile(struct kiln_bench_engines *engines, enum kiln_bench_form form,
                                    const void *graph_bytes, size_t size,
                                    struct kiln_plan **ret_plan,
                                    struct kiln_bench_contestant *contestant,
                                    struct kiln_error *error)
{
    struct kiln_plan *plan = NULL;
    struct kiln_plan *cached = NULL;
    enum kiln_status status =
        time_plan(engines->compiling[form], graph_bytes, size, KILN_ORIGIN_COMPILED, &plan,
                  &contestant->compile_cold_s, error);
    if (status)
        return status;
    status = time_plan(engines->reading[form], graph_bytes, size, KILN_ORIGIN_DISK, &cached,
                       &contestant->compile_cached_s, error);
    kiln_plan_unref(cached);
    if (status) {
        kiln_plan_unref(plan);
        return status;
    }
    contestant->kernels = kiln_plan_kernel_count(plan);
    *ret_plan = plan;
    return KILN_OK;
}
