/*
 * Kernels that several graphs have: one entry, one compilation and one module, and what becomes of
 * a program whose kernels' entries are missing, damaged or another's.
 */
#include "cache/cache_inventory.h"
#include "runtime/engine/kernel_key.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void set_up(void)
{
    plan_fixture_init();
    fake_pipeline.shares_kernels = true;
}

TestSuite(shared_kernels, .init = set_up, .fini = plan_fixture_fini, .timeout = 120);

static void take_graph(int64_t elements)
{
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, elements, 2, NULL, 3, false});
}

static struct kiln_plan *plan_of(struct kiln_engine *engine, int64_t elements)
{
    take_graph(elements);
    return plan_fixture_plan(engine);
}

/* ---- the entries in the directory ---- */

struct entries {
    unsigned programs;
    unsigned kernels;
    char kernel_paths[8][512];
    char program_paths[8][512];
};

/* What there is, by reading every file. */
static struct entries entries_of(void)
{
    struct entries entries = {0};
    struct kiln_cache_store *store = NULL;
    const struct kiln_cache_options options = {
        .directory = fixture.directory, .layers = "", .system_layer = "", .remote = ""};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &fixture.error), KILN_OK);
    for (int i = 0; i < 256; i++) {
        char fanout[128];
        (void)snprintf(fanout, sizeof fanout, "%s/%02x", fixture.directory, (unsigned)i);
        DIR *directory = opendir(fanout);
        for (struct dirent *item; directory && (item = readdir(directory)) != NULL;) {
            struct kiln_cache_item found;
            struct kiln_buffer bytes;
            struct kiln_entry_view view;
            char hex[KILN_CACHE_HASH_HEX + 1];
            if (item->d_name[0] == '.')
                continue;
            kiln_buffer_init(&bytes);
            (void)snprintf(hex, sizeof hex, "%.*s", KILN_CACHE_HASH_HEX, item->d_name);
            if (kiln_cache_store_read(store, hex, &found, &bytes, &view, &fixture.error) ==
                KILN_OK) {
                bool is_kernel = kiln_kernel_key_is_one(view.key, view.key_bytes);
                unsigned *count = is_kernel ? &entries.kernels : &entries.programs;
                (void)snprintf(
                    (is_kernel ? entries.kernel_paths : entries.program_paths)[(*count)++ % 8], 512,
                    "%s/%.64s", fanout, item->d_name);
            }
            kiln_buffer_fini(&bytes);
        }
        if (directory)
            (void)closedir(directory);
    }
    kiln_cache_store_close(store);
    return entries;
}

static void flip_byte(const char *path, off_t at)
{
    unsigned char byte;
    int file = open(path, O_RDWR);
    cr_assert_eq(pread(file, &byte, 1, at), 1);
    byte ^= 4;
    cr_assert_eq(pwrite(file, &byte, 1, at), 1);
    (void)close(file);
}

/* ---- one of each ---- */

Test(shared_kernels, two_graphs_have_one_compilation_one_entry_and_one_module)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *first = plan_of(engine, 1000);
    struct kiln_plan *second = plan_of(engine, 2000);
    cr_expect_eq(kiln_plan_origin(first), KILN_ORIGIN_COMPILED);
    cr_expect_eq(kiln_plan_origin(second), KILN_ORIGIN_MEMORY);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 2, "they are two programs");
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    cr_expect_eq(fixture.hip.live_modules(), 1);
    struct entries entries = entries_of();
    cr_expect_eq(entries.programs, 2);
    cr_expect_eq(entries.kernels, 1);
    kiln_plan_unref(first);
    cr_expect_eq(fixture.hip.live_modules(), 1);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_expect_eq(kiln_plan_execute(second, NULL, NULL, buffers, 3, &fixture.error), KILN_OK);
    kiln_plan_unref(second);
    kiln_engine_unref(engine);
    cr_expect_eq(fixture.hip.live_modules(), 0);
}

Test(shared_kernels, each_device_has_a_module_of_its_own)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *first = plan_of(engine, 1000);
    fixture.hip.set_device_count(2);
    fixture.hip.set_device(1);
    struct kiln_plan *second = plan_of(engine, 2000);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    cr_expect_eq(fixture.hip.live_modules(), 2);
    kiln_plan_unref(first);
    kiln_plan_unref(second);
    kiln_engine_unref(engine);
    cr_expect_eq(fixture.hip.live_modules(), 0);
}

/* Which real lowering makes too: two nodes of a graph that do the same. */
Test(shared_kernels, equal_kernels_of_one_program_are_one)
{
    fake_pipeline.kernel_count = 3;
    fake_pipeline.repeats_kernels = true;
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 1000);
    cr_expect_eq(kiln_plan_kernel_count(plan), 3);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    cr_expect_eq(fixture.hip.live_modules(), 1);
    cr_expect_eq(entries_of().kernels, 1);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(fixture.hip.live_modules(), 0);
}

Test(shared_kernels, a_new_graph_finds_the_kernels_of_another_process)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    kiln_engine_unref(engine);
    engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 2000);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK, "nothing was compiled");
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(entries_of().programs, 2);
}

struct wanted {
    struct kiln_engine *engine;
    int64_t elements;
};

static void *create_one(void *context)
{
    const struct wanted *wanted = context;
    struct kiln_buffer graph;
    struct kiln_error error;
    struct kiln_plan *plan = NULL;
    kiln_error_init(&error);
    kiln_buffer_init(&graph);
    sample_graph_write(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32,
                                              wanted->elements, 2, NULL, 3, false},
                       &graph);
    enum kiln_status status =
        kiln_plan_create(wanted->engine, graph.data, graph.size, &plan, &error);
    kiln_plan_unref(plan);
    kiln_buffer_fini(&graph);
    return status ? "failed" : NULL;
}

/* Different programs, so that nothing but the kernels makes them wait for each other. Half of the
 * threads have engines of their own, as other processes would: these wait by claims. */
Test(shared_kernels, threads_with_different_graphs_compile_it_once)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    struct wanted wanted[THREADS];
    struct kiln_engine *engine = plan_fixture_engine();
    fake_pipeline.kernel_count = 3;
    fake_pipeline.compile_microseconds = 20000;
    for (int i = 0; i < THREADS; i++)
        wanted[i] = (struct wanted){i % 2 ? plan_fixture_engine() : engine, 1000 + i};
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, create_one, &wanted[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failure = NULL;
        (void)pthread_join(threads[i], &failure);
        cr_expect_null(failure);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3, "%u",
                 atomic_load(&fake_pipeline.compiled));
    for (int i = 1; i < THREADS; i += 2)
        kiln_engine_unref(wanted[i].engine);
    kiln_engine_unref(engine);
    struct entries entries = entries_of();
    cr_expect_eq(entries.programs, THREADS);
    cr_expect_eq(entries.kernels, 3);
}

/* ---- what is missing ---- */

/* A program of three kernels, on disk. */
static void store_three(void)
{
    fake_pipeline.kernel_count = 3;
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    kiln_engine_unref(engine);
    cr_assert_eq(atomic_load(&fake_pipeline.compiled), 3);
}

static void expect_one_compiled(const char *what)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 1000);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED, "%s", what);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 4, "%s: the others are there", what);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    /* It healed. */
    engine = plan_fixture_engine();
    plan = plan_of(engine, 1000);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK, "%s", what);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 4, "%s", what);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(shared_kernels, a_missing_kernel_is_compiled_alone)
{
    store_three();
    struct entries entries = entries_of();
    cr_assert_eq(entries.kernels, 3);
    cr_assert_eq(unlink(entries.kernel_paths[1]), 0);
    expect_one_compiled("missing");
}

Test(shared_kernels, a_damaged_kernel_is_compiled_alone)
{
    store_three();
    flip_byte(entries_of().kernel_paths[2], 90);
    expect_one_compiled("damaged");
}

Test(shared_kernels, a_truncated_kernel_is_compiled_alone)
{
    store_three();
    cr_assert_eq(truncate(entries_of().kernel_paths[0], 60), 0);
    expect_one_compiled("truncated");
}

/* Sound, and of another key. */
Test(shared_kernels, another_kernel_in_its_place_is_never_taken)
{
    store_three();
    struct entries entries = entries_of();
    cr_assert_eq(unlink(entries.kernel_paths[0]), 0);
    cr_assert_eq(link(entries.kernel_paths[1], entries.kernel_paths[0]), 0);
    expect_one_compiled("foreign");
}

/* A program in the place of a kernel: sound as well, under its own name only. */
Test(shared_kernels, a_program_is_no_kernel)
{
    store_three();
    struct entries entries = entries_of();
    cr_assert_eq(unlink(entries.kernel_paths[0]), 0);
    cr_assert_eq(link(entries.program_paths[0], entries.kernel_paths[0]), 0);
    expect_one_compiled("a program");
}

/* A sound entry of the very key whose payload says nothing. */
Test(shared_kernels, a_kernel_whose_payload_is_none_is_compiled_alone)
{
    store_three();
    struct entries entries = entries_of();
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_item item;
    struct kiln_buffer bytes;
    struct kiln_entry_view view;
    const struct kiln_cache_options options = {
        .directory = fixture.directory, .layers = "", .system_layer = "", .remote = ""};
    kiln_buffer_init(&bytes);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &fixture.error), KILN_OK);
    char hex[KILN_CACHE_HASH_HEX + 1];
    (void)snprintf(hex, sizeof hex, "%.*s", KILN_CACHE_HASH_HEX,
                   strrchr(entries.kernel_paths[0], '/') + 1);
    cr_assert_eq(kiln_cache_store_read(store, hex, &item, &bytes, &view, &fixture.error), KILN_OK);
    struct kiln_cache_key key;
    kiln_cache_key_init(&key);
    kiln_buffer_append(&key.bytes, view.key, view.key_bytes);
    cr_assert_eq(kiln_cache_key_finish(&key, &fixture.error), KILN_OK);
    const struct kiln_cache_maker maker = {.compiler = fake_pipeline.identity};
    cr_assert_eq(kiln_cache_store_insert(store, &key, &maker, "nonsense", 8, &fixture.error),
                 KILN_OK);
    kiln_cache_key_fini(&key);
    kiln_buffer_fini(&bytes);
    kiln_cache_store_close(store);
    expect_one_compiled("nonsense");
}

Test(shared_kernels, a_program_without_any_kernel_is_no_error)
{
    store_three();
    struct entries entries = entries_of();
    for (int i = 0; i < 3; i++)
        cr_assert_eq(unlink(entries.kernel_paths[i]), 0);
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 1000);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 6);
    cr_expect_eq(fixture.hip.live_modules(), 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* Kernels without a program: it is made of them. */
Test(shared_kernels, a_missing_program_is_made_of_its_kernels)
{
    store_three();
    cr_assert_eq(unlink(entries_of().program_paths[0]), 0);
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 1000);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(entries_of().programs, 1);
}

/* ---- uses ---- */

static long age_of(const char *path)
{
    struct stat attributes;
    cr_assert_eq(stat(path, &attributes), 0);
    return (long)(time(NULL) - attributes.st_mtim.tv_sec);
}

static void set_age(const char *path, long seconds)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Whoever evicts by age must not take the kernels of a program that was just stored or used. */
Test(shared_kernels, a_kernel_is_used_whenever_a_program_of_it_is)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    struct entries entries = entries_of();
    set_age(entries.kernel_paths[0], 1800);
    kiln_plan_unref(plan_of(engine, 2000)); /* from memory, and a new recipe */
    cr_expect_lt(age_of(entries.kernel_paths[0]), 60);
    set_age(entries.kernel_paths[0], 7200);
    kiln_engine_unref(engine);
    engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 2000));
    cr_expect_lt(age_of(entries.kernel_paths[0]), 60, "read");
    set_age(entries.kernel_paths[0], 7200);
    kiln_plan_unref(plan_of(engine, 1000)); /* its recipe is read, the kernel in memory */
    cr_expect_lt(age_of(entries.kernel_paths[0]), 60, "in memory");
    kiln_engine_unref(engine);
}

Test(shared_kernels, a_kernel_that_the_directory_has_lost_is_stored_with_the_next_program)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    cr_assert_eq(unlink(entries_of().kernel_paths[0]), 0);
    kiln_plan_unref(plan_of(engine, 2000));
    cr_expect_eq(entries_of().kernels, 1);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    kiln_engine_unref(engine);
}

/* ---- forms ---- */

static void let_second_spill(const uint32_t spilled_bytes[4])
{
    fake_pipeline.kernel_count = 3;
    fake_pipeline.form_count = 4;
    fake_pipeline.spilling_kernel = 2;
    memcpy(fake_pipeline.spilled_bytes, spilled_bytes, sizeof fake_pipeline.spilled_bytes);
}

/* What one graph has found out about a form no other has to. */
Test(shared_kernels, a_form_that_spills_is_not_compiled_again_for_another_graph)
{
    let_second_spill((uint32_t[4]){28, 40, 0, 0});
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 5);
    kiln_engine_unref(engine);
    cr_expect_eq(entries_of().kernels, 5, "two say that they spill");
    engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 2000);
    cr_expect_eq(kiln_plan_kernel_form(plan, 1), 2);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 5);
    cr_expect_eq(fixture.hip.live_modules(), 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* The one that is taken in the end was not kept at first. */
Test(shared_kernels, the_form_that_spills_least_is_kept_whole)
{
    let_second_spill((uint32_t[4]){28, 12, 40, 12});
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 6);
    kiln_engine_unref(engine);
    for (int64_t elements = 1000; elements <= 2000; elements += 1000) {
        engine = plan_fixture_engine();
        struct kiln_plan *plan = plan_of(engine, elements);
        cr_expect_eq(kiln_plan_kernel_form(plan, 1), 1);
        cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
        cr_expect_eq(atomic_load(&fake_pipeline.compiled), 6);
        kiln_plan_unref(plan);
        kiln_engine_unref(engine);
    }
}

/* The recipe says which form is the good one: those before it are not tried. */
Test(shared_kernels, a_missing_kernel_is_compiled_in_the_form_of_the_recipe)
{
    let_second_spill((uint32_t[4]){28, 40, 0, 0});
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_of(engine, 1000));
    kiln_engine_unref(engine);
    struct entries entries = entries_of();
    for (int i = 0; i < 5; i++)
        cr_assert_eq(unlink(entries.kernel_paths[i]), 0);
    engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 1000);
    cr_expect_eq(kiln_plan_kernel_form(plan, 1), 2);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 5 + 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* ---- refusals ---- */

Test(shared_kernels, only_the_kernel_that_is_refused_is_compiled_again)
{
    fake_pipeline.kernel_count = 3;
    fake_pipeline.bad_kernel = 2;
    take_graph(1000);
    plan_fixture_compile("gfx90a");
    fake_pipeline.bad_kernel = 0;
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_of(engine, 1000);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3 + 1);
    cr_expect_eq(fixture.hip.live_modules(), 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    engine = plan_fixture_engine();
    plan = plan_of(engine, 2000);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK, "the good one took its place");
    cr_expect_eq(fixture.hip.live_modules(), 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 3 + 1);
}
