/*
 * Processes and threads that want programs with kernels in common, while one of them keeps throwing
 * away what is stored: every plan is made, no module stays loaded, and what is left in the end is
 * whole. In memory a program's kernels go and come too: each engine lives for a few rounds.
 *
 * usage: shared_kernels_stress [PROCESSES [ROUNDS]]
 */
#include "cache/cache_inventory.h"
#include "runtime/engine/engine.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/stand_ins/stand_in.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, GRAPHS = 12, ROUNDS_OF_ENGINE = 20 };

static char directory[64];
static struct kiln_buffer graphs[GRAPHS];

static struct kiln_engine *open_engine(void)
{
    const struct kiln_engine_options options = {
        .cache_directory = directory, .is_cache_isolated = true, .device = "hip"};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_engine_create(&options, &engine, &error) != KILN_OK)
        (void)fprintf(stderr, "%s\n", error.text);
    return engine;
}

struct work {
    struct kiln_engine *engine;
    unsigned seed;
    unsigned rounds;
    bool throws_away;
};

static void throw_away(struct kiln_engine *engine)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_cleared cleared;
    struct kiln_error error;
    kiln_error_init(&error);
    /* Others may be writing there: what cannot be removed stays. */
    if (kiln_engine_cache(engine, &store, &error) != KILN_OK ||
        kiln_cache_store_clear(store, &cleared, &error) != KILN_OK)
        (void)fprintf(stderr, "not all is thrown away: %s\n", error.text);
}

static void *make_plans(void *context)
{
    struct work *work = context;
    for (unsigned i = 0; i < work->rounds; i++) {
        const struct kiln_buffer *graph = &graphs[rand_r(&work->seed) % GRAPHS];
        struct kiln_plan *plan = NULL;
        struct kiln_error error;
        kiln_error_init(&error);
        if (kiln_plan_create(work->engine, graph->data, graph->size, &plan, &error) != KILN_OK) {
            (void)fprintf(stderr, "no plan: %s\n", error.text);
            return context;
        }
        kiln_plan_unref(plan);
        if (work->throws_away && rand_r(&work->seed) % 8 == 0)
            throw_away(work->engine);
    }
    return NULL;
}

static int run_process(unsigned number, unsigned rounds)
{
    struct stand_in hip = stand_in_open();
    int failures = 0;
    fake_pipeline.shares_kernels = true;
    fake_pipeline.kernel_count = 3;
    fake_pipeline.compile_microseconds = 200;
    for (unsigned done = 0; done < rounds; done += ROUNDS_OF_ENGINE) {
        pthread_t threads[THREADS];
        struct work work[THREADS];
        struct kiln_engine *engine = open_engine();
        if (!engine)
            return 1;
        for (unsigned i = 0; i < THREADS; i++) {
            work[i] = (struct work){engine, number * 1000 + done + i, ROUNDS_OF_ENGINE,
                                    number == 0 && i == 0};
            if (pthread_create(&threads[i], NULL, make_plans, &work[i]) != 0)
                return 1;
        }
        for (unsigned i = 0; i < THREADS; i++) {
            void *failure = NULL;
            (void)pthread_join(threads[i], &failure);
            failures += failure != NULL;
        }
        kiln_engine_unref(engine);
        if (hip.live_modules() != 0) {
            (void)fprintf(stderr, "%d modules stay loaded\n", hip.live_modules());
            failures++;
        }
    }
    return failures != 0;
}

/* Whatever they have left: nothing damaged, and after one run of each graph nothing missing. */
static int check_rest(void)
{
    struct stand_in hip = stand_in_open();
    (void)hip;
    fake_pipeline.shares_kernels = true;
    fake_pipeline.kernel_count = 3;
    for (int run = 0; run < 2; run++) {
        struct kiln_engine *engine = open_engine();
        struct kiln_cache_store *store = NULL;
        struct kiln_cache_stats stats = {0};
        struct kiln_error error;
        kiln_error_init(&error);
        unsigned before = atomic_load(&fake_pipeline.compiled);
        if (!engine || kiln_engine_cache(engine, &store, &error) != KILN_OK ||
            kiln_cache_store_verify(store, NULL, NULL, &stats, &error) != KILN_OK ||
            stats.damaged != 0) {
            (void)fprintf(stderr, "%llu damaged: %s\n", (unsigned long long)stats.damaged,
                          error.text);
            return 1;
        }
        for (int i = 0; i < GRAPHS; i++) {
            struct kiln_plan *plan = NULL;
            if (kiln_plan_create(engine, graphs[i].data, graphs[i].size, &plan, &error) != KILN_OK)
                return 1;
            kiln_plan_unref(plan);
        }
        kiln_engine_unref(engine);
        unsigned compiled = atomic_load(&fake_pipeline.compiled) - before;
        if (compiled > (run == 0 ? 3U : 0U)) {
            (void)fprintf(stderr, "run %d compiled %u kernels\n", run, compiled);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned processes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4;
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
    char command[128];
    int failed = 0;
    (void)snprintf(directory, sizeof directory, "/tmp/kiln_shared_stress_XXXXXX");
    if (!mkdtemp(directory))
        return 1;
    for (int i = 0; i < GRAPHS; i++) {
        kiln_buffer_init(&graphs[i]);
        sample_graph_write(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1000 + i,
                                                  2, NULL, 3, false},
                           &graphs[i]);
    }
    for (unsigned i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(run_process(i, rounds));
        failed += child < 0;
    }
    for (unsigned i = 0; i < processes; i++) {
        int status = 1;
        failed += wait(&status) < 0 || status != 0;
    }
    failed += check_rest();
    for (int i = 0; i < GRAPHS; i++)
        kiln_buffer_fini(&graphs[i]);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    failed += system(command) != 0;
    (void)printf("%u processes of %d threads and %u rounds: %d failed\n", processes, THREADS,
                 rounds, failed);
    return failed != 0;
}
