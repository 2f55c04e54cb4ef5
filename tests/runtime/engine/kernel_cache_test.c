/*
 * Kernels by key: what a cache may claim about one, and threads that come between a thread's drop
 * of a kernel from the table and its own attempt to make it, or that wait for one that only looks.
 * The linker puts the functions below in the place of kiln_object_table_drop and
 * kiln_cache_store_find.
 */
#include "runtime/engine/kernel_cache.h"

#include "runtime/engine/kernel_format.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct kiln_codegen *codegen;
static struct kiln_target target;
static struct kiln_cache_store *store;
static struct kiln_kernel_cache cache;
static struct kiln_kernel_scope scope;
static struct kiln_error error;

/* Called once after the next drop, as another thread would at that moment. */
static void (*after_drop)(void);

void __real_kiln_object_table_drop(struct kiln_object_table *table,
                                   const struct kiln_cache_key *key, const void *object);
void __wrap_kiln_object_table_drop(struct kiln_object_table *table,
                                   const struct kiln_cache_key *key, const void *object);

void __wrap_kiln_object_table_drop(struct kiln_object_table *table,
                                   const struct kiln_cache_key *key, const void *object)
{
    __real_kiln_object_table_drop(table, key, object);
    void (*hook)(void) = after_drop;
    after_drop = NULL;
    if (hook)
        hook();
}

static _Atomic uint32_t find_microseconds; /* that a lookup in the store takes */
static atomic_uint finding;                /* lookups so far */

enum kiln_status __real_kiln_cache_store_find(struct kiln_cache_store *of,
                                              const struct kiln_cache_query *query,
                                              struct kiln_cache_found *ret_found,
                                              struct kiln_error *ret_error);
enum kiln_status __wrap_kiln_cache_store_find(struct kiln_cache_store *of,
                                              const struct kiln_cache_query *query,
                                              struct kiln_cache_found *ret_found,
                                              struct kiln_error *ret_error);

enum kiln_status __wrap_kiln_cache_store_find(struct kiln_cache_store *of,
                                              const struct kiln_cache_query *query,
                                              struct kiln_cache_found *ret_found,
                                              struct kiln_error *ret_error)
{
    atomic_fetch_add(&finding, 1);
    if (find_microseconds)
        (void)usleep(find_microseconds);
    return __real_kiln_cache_store_find(of, query, ret_found, ret_error);
}

static const struct kiln_kernel source = {.symbol = "kernel_1",
                                          .source = "vectors form 0",
                                          .grid = {1, 1, 1},
                                          .block = {64, 1, 1},
                                          .lds_bytes = 4096,
                                          .uses_barrier = true,
                                          .argument_count = 3};

static void set_up(void)
{
    kiln_error_init(&error);
    after_drop = NULL;
    cr_assert_not_null(temporary_directory_make());
    cr_assert_eq(kiln_target_parse("gfx90a", &target, &error), KILN_OK);
    cr_assert_eq(kiln_codegen_create(&(struct kiln_codegen_options){0}, &codegen, &error), KILN_OK);
    const struct kiln_cache_options options = {
        .directory = temporary_path("cache"), .layers = "", .system_layer = "", .remote = ""};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_kernel_cache_init(&cache, codegen, &error), KILN_OK);
    scope = (struct kiln_kernel_scope){
        .store = store, .target = &target, .maker = {"compiler 1", "build 1"}, .may_compile = true};
}

static void tear_down(void)
{
    kiln_kernel_cache_fini(&cache);
    kiln_cache_store_close(store);
    kiln_codegen_unref(codegen);
    temporary_directory_remove();
}

TestSuite(kernel_cache, .init = set_up, .fini = tear_down, .timeout = 60);

/* As another process would find it. */
static void forget(void)
{
    kiln_kernel_cache_fini(&cache);
    cr_assert_eq(kiln_kernel_cache_init(&cache, codegen, &error), KILN_OK);
}

static struct kiln_shared_kernel *get(const struct kiln_kernel *kernel, bool needs_code)
{
    struct kiln_shared_kernel *found = NULL;
    enum kiln_program_origin origin;
    cr_assert_eq(kiln_kernel_cache_get(&cache, &scope, kernel, needs_code, &found, &origin, &error),
                 KILN_OK, "%s", error.text);
    return found;
}

static struct kiln_compiled_kernel recipe_of(const struct kiln_shared_kernel *kernel)
{
    struct kiln_compiled_kernel recipe = {.name = kiln_shared_kernel_name(kernel),
                                          .symbol = kernel->symbol,
                                          .argument_count = kernel->argument_count};
    memcpy(recipe.block, kernel->block, sizeof recipe.block);
    return recipe;
}

static void expect_as_asked(const struct kiln_shared_kernel *kernel)
{
    cr_expect_arr_eq(kernel->block, source.block, sizeof source.block);
    cr_expect_eq(kernel->lds_bytes, source.lds_bytes);
    cr_expect_eq(kernel->uses_barrier, source.uses_barrier);
    cr_expect_eq(kernel->argument_count, source.argument_count);
    cr_expect(kiln_shared_kernel_has_code(kernel));
}

/* Puts a sound entry of the kernel's key into the cache whose payload is of another launch. */
static void store_changed(struct kiln_shared_kernel *kernel,
                          void (*change)(struct kiln_shared_kernel *))
{
    struct kiln_buffer payload;
    kiln_buffer_init(&payload);
    change(kernel);
    kiln_kernel_format_write(kernel, true, &payload);
    cr_assert_eq(kiln_cache_store_insert(store, &kernel->key, &scope.maker, payload.data,
                                         payload.size, &error),
                 KILN_OK);
    kiln_buffer_fini(&payload);
}

static void change_block(struct kiln_shared_kernel *kernel)
{
    kernel->block[0] = 128;
}

static void change_lds(struct kiln_shared_kernel *kernel)
{
    kernel->lds_bytes = 16;
}

static void change_barrier(struct kiln_shared_kernel *kernel)
{
    kernel->uses_barrier = false;
}

static void change_arguments(struct kiln_shared_kernel *kernel)
{
    kernel->argument_count = 2;
}

static void (*const changes[])(struct kiln_shared_kernel *) = {change_block, change_lds,
                                                               change_barrier, change_arguments};
enum { CHANGES = sizeof changes / sizeof *changes };

/* ---- what an entry says ---- */

Test(kernel_cache, an_entry_that_is_launched_otherwise_than_its_key_says_is_a_miss)
{
    for (unsigned i = 0; i < CHANGES; i++) {
        struct kiln_shared_kernel *kernel = get(&source, true);
        struct kiln_compiled_kernel recipe = recipe_of(kernel);
        store_changed(kernel, changes[i]);
        memcpy(recipe.block, kernel->block, sizeof recipe.block); /* the recipe agrees with it */
        recipe.argument_count = kernel->argument_count;
        forget();
        unsigned before = atomic_load(&fake_pipeline.compiled);
        struct kiln_shared_kernel *found = NULL;
        cr_expect_eq(
            kiln_kernel_cache_find(&cache, &scope, recipe.name, recipe.symbol, &found, &error),
            KILN_NOT_FOUND, "%u", i);
        kiln_shared_kernel_unref(found);
        found = get(&source, true);
        expect_as_asked(found);
        cr_expect_eq(atomic_load(&fake_pipeline.compiled), before + 1, "%u", i);
        kiln_shared_kernel_unref(found);
        forget();
        found = get(&source, true);
        expect_as_asked(found);
        cr_expect_eq(atomic_load(&fake_pipeline.compiled), before + 1, "%u: it healed", i);
        kiln_shared_kernel_unref(found);
        kiln_shared_kernel_unref(kernel);
        forget();
    }
}

/* A later Kiln may give a group more local memory without a change of the text. */
Test(kernel_cache, one_text_that_is_launched_otherwise_is_another_kernel)
{
    struct kiln_kernel other = source;
    other.lds_bytes *= 2;
    struct kiln_shared_kernel *first = get(&source, true);
    struct kiln_shared_kernel *second = get(&other, true);
    cr_expect_eq(first->lds_bytes, source.lds_bytes);
    cr_expect_eq(second->lds_bytes, other.lds_bytes);
    cr_expect_neq(kiln_shared_kernel_name(first).low, kiln_shared_kernel_name(second).low);
    kiln_shared_kernel_unref(first);
    kiln_shared_kernel_unref(second);
}

/* Two compilers came to different results, and nothing here compiles. */
Test(kernel_cache, a_note_of_one_compiler_does_not_hide_the_kernel_of_another)
{
    static const char *const compilers[] = {"compiler 1", "compiler 2"};
    static const char *const texts[] = {"vectors form 0", "vectors form 1"};
    for (unsigned i = 0; i < 2; i++) {
        struct kiln_kernel kernel = source;
        kernel.source = texts[i];
        scope.may_compile = true;
        scope.maker.compiler = compilers[i];
        fake_pipeline.spilling_kernel = 1;
        fake_pipeline.spilled_bytes[0] = 28;
        kiln_shared_kernel_unref(get(&kernel, false));
        forget();
        scope.maker.compiler = compilers[1 - i];
        fake_pipeline.spilling_kernel = 0;
        struct kiln_shared_kernel *made = get(&kernel, false);
        struct kiln_compiled_kernel recipe = recipe_of(made);
        forget();
        scope.may_compile = false;
        scope.maker.compiler = NULL;
        struct kiln_shared_kernel *found = NULL;
        cr_assert_eq(
            kiln_kernel_cache_find(&cache, &scope, recipe.name, recipe.symbol, &found, &error),
            KILN_OK, "%u: %s", i, error.text);
        expect_as_asked(found);
        kiln_shared_kernel_unref(found);
        kiln_shared_kernel_unref(made);
        forget();
    }
}

/* ---- threads that come in between ---- */

static void get_without_need(void)
{
    kiln_shared_kernel_unref(get(&source, false));
}

/* It reads again that the kernel spills, and leaves that in the table. */
Test(kernel_cache, who_needs_code_gets_it_when_another_thread_does_without)
{
    fake_pipeline.spilling_kernel = 1;
    fake_pipeline.spilled_bytes[0] = 28;
    kiln_shared_kernel_unref(get(&source, false));
    forget();
    struct kiln_shared_kernel *kernel = get(&source, false);
    cr_assert_not(kiln_shared_kernel_has_code(kernel), "the cache says only that it spills");
    kiln_shared_kernel_unref(kernel);
    after_drop = get_without_need;
    kernel = get(&source, true);
    cr_expect_null(after_drop);
    expect_as_asked(kernel);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
    kiln_shared_kernel_unref(kernel);
}

/* It reads the very entry that a device has refused. */
Test(kernel_cache, a_refused_kernel_is_replaced_when_another_thread_reads_it_again)
{
    kiln_shared_kernel_unref(get(&source, true));
    forget();
    struct kiln_shared_kernel *refused = get(&source, true);
    cr_assert_not(refused->was_compiled_here);
    after_drop = get_without_need;
    struct kiln_shared_kernel *fresh = NULL;
    cr_assert_eq(kiln_kernel_cache_replace(&cache, &scope, &source, refused, &fresh, &error),
                 KILN_OK);
    cr_expect_null(after_drop);
    cr_expect(fresh->was_compiled_here);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
    struct kiln_shared_kernel *again = NULL;
    cr_assert_eq(kiln_kernel_cache_replace(&cache, &scope, &source, refused, &again, &error),
                 KILN_OK);
    cr_expect_eq(again, fresh, "another thread has done that already");
    kiln_shared_kernel_unref(again);
    kiln_shared_kernel_unref(fresh);
    kiln_shared_kernel_unref(refused);
}

/* ---- a thread that only looks ---- */

static void *look(void *ret_status)
{
    struct kiln_kernel_scope looking = scope;
    struct kiln_shared_kernel *kernel = NULL;
    enum kiln_program_origin origin;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    looking.may_compile = false;
    *(enum kiln_status *)ret_status =
        kiln_kernel_cache_get(&cache, &looking, &source, true, &kernel, &origin, &ignored);
    kiln_shared_kernel_unref(kernel);
    return NULL;
}

Test(kernel_cache, a_kernel_is_compiled_though_a_thread_looks_for_it)
{
    enum kiln_status status = KILN_OK;
    pthread_t thread;
    find_microseconds = 300000;
    cr_assert_eq(pthread_create(&thread, NULL, look, &status), 0);
    while (atomic_load(&finding) == 0)
        (void)usleep(1000);
    struct kiln_shared_kernel *kernel = get(&source, true);
    (void)pthread_join(thread, NULL);
    cr_expect_eq(status, KILN_UNSUPPORTED);
    expect_as_asked(kernel);
    kiln_shared_kernel_unref(kernel);
}
