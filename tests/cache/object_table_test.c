#include "cache/object_table.h"

#include "tests/cache/sample_key.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct object {
    atomic_uint references;
    unsigned number;
};

static atomic_uint alive;

static void ref_object(void *object)
{
    atomic_fetch_add(&((struct object *)object)->references, 1);
}

static void unref_object(void *object)
{
    if (atomic_fetch_sub(&((struct object *)object)->references, 1) == 1) {
        free(object);
        atomic_fetch_sub(&alive, 1);
    }
}

static bool is_object_shared(void *object)
{
    return atomic_load(&((struct object *)object)->references) > 1;
}

static const struct kiln_object_type plain_type = {.ref = ref_object, .unref = unref_object};
static const struct kiln_object_type shared_type = {
    .ref = ref_object, .unref = unref_object, .is_shared = is_object_shared};

static struct kiln_object_table *table;
static struct kiln_error error;
static atomic_uint makes;

static void set_up(void)
{
    kiln_error_init(&error);
    cr_assert_eq(kiln_object_table_create(&plain_type, &table, &error), KILN_OK);
}

static void tear_down(void)
{
    kiln_object_table_destroy(table);
    cr_assert_eq(atomic_load(&alive), 0, "an object leaked");
}

TestSuite(object_table, .init = set_up, .fini = tear_down);

/* `context`: the number that the object gets. */
static enum kiln_status make(void *context, const struct kiln_cache_key *key, void **ret_object,
                             struct kiln_error *ret_error)
{
    (void)key;
    (void)ret_error;
    atomic_fetch_add(&makes, 1);
    struct object *object = malloc(sizeof *object);
    atomic_init(&object->references, 1);
    object->number = *(unsigned *)context;
    atomic_fetch_add(&alive, 1);
    *ret_object = object;
    return KILN_OK;
}

static struct object *get(unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    void *object = NULL;
    cr_assert_eq(kiln_object_table_get(table, &key, make, &number, &object, &error), KILN_OK, "%s",
                 error.text);
    kiln_cache_key_fini(&key);
    return object;
}

Test(object_table, makes_once_and_hands_out_references)
{
    struct object *first = get(1);
    struct object *again = get(1);
    struct object *other = get(2);
    cr_assert_eq(first, again);
    cr_assert_neq(first, other);
    cr_assert_eq(atomic_load(&makes), 2);
    cr_assert_eq(atomic_load(&first->references), 3, "the table's and two of ours");
    unref_object(first);
    unref_object(again);
    unref_object(other);
    cr_assert_eq(atomic_load(&alive), 2);
}

Test(object_table, an_object_outlives_the_table)
{
    struct object *object = get(1);
    kiln_object_table_destroy(table);
    table = NULL;
    cr_assert_eq(object->number, 1);
    unref_object(object);
}

Test(object_table, a_dropped_object_is_made_again)
{
    struct kiln_cache_key key = sample_key(1);
    struct object *first = get(1);
    cr_expect_eq(kiln_object_table_losses(table), 0);
    kiln_object_table_drop(table, &key, first);
    cr_expect_eq(kiln_object_table_losses(table), 1);
    cr_expect_eq(atomic_load(&first->references), 1, "ours alone");
    struct object *second = get(1);
    cr_expect_neq(first, second);
    cr_expect_eq(atomic_load(&makes), 2);
    /* Of two who find the same object useless the later one must not drop what replaced it. */
    kiln_object_table_drop(table, &key, first);
    cr_expect_eq(kiln_object_table_losses(table), 1);
    struct object *third = get(1);
    cr_expect_eq(second, third);
    unref_object(first);
    unref_object(second);
    unref_object(third);
    kiln_cache_key_fini(&key);
    key = sample_key(2);
    kiln_object_table_drop(table, &key, NULL); /* nothing there */
    kiln_cache_key_fini(&key);
}

Test(object_table, keys_are_compared_in_full)
{
    struct object *first = get(1);
    struct kiln_cache_key collision = sample_key(2);
    struct kiln_cache_key genuine = sample_key(1);
    collision.hash_high = genuine.hash_high;
    collision.hash_low = genuine.hash_low;
    unsigned number = 2;
    void *object = NULL;
    cr_assert_eq(kiln_object_table_get(table, &collision, make, &number, &object, &error), KILN_OK);
    cr_assert_neq(object, first);
    cr_assert_eq(((struct object *)object)->number, 2);
    unref_object(object);
    unref_object(first);
    kiln_cache_key_fini(&collision);
    kiln_cache_key_fini(&genuine);
}

static enum kiln_status fail(void *context, const struct kiln_cache_key *key, void **ret_object,
                             struct kiln_error *ret_error)
{
    (void)context;
    (void)key;
    (void)ret_object;
    atomic_fetch_add(&makes, 1);
    return kiln_error_set(ret_error, KILN_COMPILE_FAILED, "no such thing as '%s'", "x");
}

Test(object_table, a_failure_is_reported_and_tried_again)
{
    struct kiln_cache_key key = sample_key(1);
    void *object = &key;
    for (unsigned i = 1; i <= 2; i++) {
        kiln_error_init(&error);
        cr_assert_eq(kiln_object_table_get(table, &key, fail, NULL, &object, &error),
                     KILN_COMPILE_FAILED);
        cr_assert_str_eq(error.text, "no such thing as 'x'");
        cr_assert_eq(object, &key, "a failure touched the result");
        cr_assert_eq(atomic_load(&makes), i);
    }
    unref_object(get(1));
    cr_assert_eq(atomic_load(&makes), 3);
    kiln_cache_key_fini(&key);
}

/* Single flight: all threads are on their way before the maker returns. */

enum { THREADS = 16 };

static atomic_uint started;

static void sleep_ms(long milliseconds)
{
    struct timespec time = {.tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&time, NULL);
}

struct flight_case {
    kiln_object_maker maker;
    enum kiln_status status;
};

static void wait_for_all(void)
{
    while (atomic_load(&started) < THREADS)
        sleep_ms(1);
    sleep_ms(50);
}

static enum kiln_status make_late(void *context, const struct kiln_cache_key *key,
                                  void **ret_object, struct kiln_error *ret_error)
{
    wait_for_all();
    return make(context, key, ret_object, ret_error);
}

static enum kiln_status fail_late(void *context, const struct kiln_cache_key *key,
                                  void **ret_object, struct kiln_error *ret_error)
{
    wait_for_all();
    return fail(context, key, ret_object, ret_error);
}

struct outcome {
    kiln_object_maker maker;
    enum kiln_status status;
    void *object;
    struct kiln_error error;
};

static void *get_in_thread(void *argument)
{
    struct outcome *outcome = argument;
    struct kiln_cache_key key = sample_key(5);
    unsigned number = 5;
    kiln_error_init(&outcome->error);
    atomic_fetch_add(&started, 1);
    outcome->status = kiln_object_table_get(table, &key, outcome->maker, &number, &outcome->object,
                                            &outcome->error);
    kiln_cache_key_fini(&key);
    return NULL;
}

static void run_threads(kiln_object_maker maker, struct outcome outcomes[THREADS])
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        outcomes[i] = (struct outcome){.maker = maker};
        cr_assert_eq(pthread_create(&threads[i], NULL, get_in_thread, &outcomes[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
}

Test(object_table, sixteen_threads_run_the_maker_once, .timeout = 60)
{
    static struct outcome outcomes[THREADS];
    run_threads(make_late, outcomes);
    cr_assert_eq(atomic_load(&makes), 1);
    struct object *object = outcomes[0].object;
    cr_assert_eq(atomic_load(&object->references), THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        cr_assert_eq(outcomes[i].status, KILN_OK);
        cr_assert_eq(outcomes[i].object, object);
        unref_object(outcomes[i].object);
    }
}

Test(object_table, the_makers_error_reaches_all_who_wait, .timeout = 60)
{
    static struct outcome outcomes[THREADS];
    run_threads(fail_late, outcomes);
    cr_assert_eq(atomic_load(&makes), 1);
    for (unsigned i = 0; i < THREADS; i++) {
        cr_assert_eq(outcomes[i].status, KILN_COMPILE_FAILED);
        cr_assert_eq(outcomes[i].error.status, KILN_COMPILE_FAILED);
        cr_assert_str_eq(outcomes[i].error.text, "no such thing as 'x'");
        cr_assert_null(outcomes[i].object);
    }
    unref_object(get(5));
}

static enum kiln_status make_with_part(void *context, const struct kiln_cache_key *key,
                                       void **ret_object, struct kiln_error *ret_error)
{
    unref_object(get(*(unsigned *)context + 1));
    return make(context, key, ret_object, ret_error);
}

Test(object_table, a_maker_may_ask_for_other_keys, .timeout = 20)
{
    struct kiln_cache_key key = sample_key(1);
    unsigned number = 1;
    void *object = NULL;
    cr_assert_eq(kiln_object_table_get(table, &key, make_with_part, &number, &object, &error),
                 KILN_OK);
    cr_assert_eq(atomic_load(&makes), 2);
    unref_object(object);
    kiln_cache_key_fini(&key);
}

static enum kiln_status make_from_itself(void *context, const struct kiln_cache_key *key,
                                         void **ret_object, struct kiln_error *ret_error)
{
    return kiln_object_table_get(table, key, make, context, ret_object, ret_error);
}

Test(object_table, a_maker_that_asks_for_its_own_key_fails, .timeout = 20)
{
    struct kiln_cache_key key = sample_key(1);
    unsigned number = 1;
    void *object = NULL;
    cr_assert_eq(kiln_object_table_get(table, &key, make_from_itself, &number, &object, &error),
                 KILN_INTERNAL);
    cr_assert_str_eq(error.text, "the maker of an object asked for that object");
    unref_object(get(1));
    kiln_cache_key_fini(&key);
}

Test(object_table, the_least_recently_used_goes_first)
{
    for (unsigned i = 0; i < KILN_OBJECT_TABLE_LIMIT; i++)
        unref_object(get(i));
    cr_assert_eq(atomic_load(&alive), KILN_OBJECT_TABLE_LIMIT);
    unref_object(get(0));
    unref_object(get(KILN_OBJECT_TABLE_LIMIT));
    cr_assert_eq(atomic_load(&alive), KILN_OBJECT_TABLE_LIMIT, "one came, one went");
    atomic_store(&makes, 0);
    unref_object(get(0));
    unref_object(get(2));
    cr_assert_eq(atomic_load(&makes), 0, "both were used after 1");
    unref_object(get(1));
    cr_assert_eq(atomic_load(&makes), 1);
}

Test(object_table, an_evicted_object_stays_good_for_those_who_hold_it)
{
    struct object *held = get(0);
    for (unsigned i = 1; i <= KILN_OBJECT_TABLE_LIMIT; i++)
        unref_object(get(i));
    cr_assert_eq(atomic_load(&held->references), 1, "only ours is left");
    cr_assert_eq(held->number, 0);
    struct object *another = get(0);
    cr_assert_neq(another, held);
    unref_object(another);
    unref_object(held);
}

Test(object_table, shared_objects_stay_while_others_can_go)
{
    kiln_object_table_destroy(table);
    cr_assert_eq(kiln_object_table_create(&shared_type, &table, &error), KILN_OK);
    struct object *held[10];
    for (unsigned i = 0; i < 10; i++)
        held[i] = get(i);
    for (unsigned i = 10; i < KILN_OBJECT_TABLE_LIMIT + 100; i++)
        unref_object(get(i));
    cr_assert_eq(atomic_load(&alive), KILN_OBJECT_TABLE_LIMIT);
    for (unsigned i = 0; i < 10; i++) {
        cr_assert_eq(get(i), held[i]);
        unref_object(held[i]);
        unref_object(held[i]);
    }
}

Test(object_table, the_bound_holds_when_everything_is_shared)
{
    kiln_object_table_destroy(table);
    cr_assert_eq(kiln_object_table_create(&shared_type, &table, &error), KILN_OK);
    enum { COUNT = KILN_OBJECT_TABLE_LIMIT + 50 };
    static struct object *held[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        held[i] = get(i);
    cr_expect_eq(kiln_object_table_losses(table), COUNT - KILN_OBJECT_TABLE_LIMIT);
    for (unsigned i = 0; i < COUNT; i++)
        unref_object(held[i]);
    cr_assert_eq(atomic_load(&alive), KILN_OBJECT_TABLE_LIMIT);
}

static atomic_bool is_held;
static atomic_bool is_making;

static enum kiln_status make_held(void *context, const struct kiln_cache_key *key,
                                  void **ret_object, struct kiln_error *ret_error)
{
    atomic_store(&is_making, true);
    while (atomic_load(&is_held))
        (void)usleep(1000);
    return make(context, key, ret_object, ret_error);
}

static void *get_held(void *context)
{
    struct kiln_cache_key key = sample_key(1);
    unsigned number = 1;
    struct kiln_error thread_error;
    kiln_error_init(&thread_error);
    void *object = NULL;
    enum kiln_status status =
        kiln_object_table_get(context, &key, make_held, &number, &object, &thread_error);
    kiln_cache_key_fini(&key);
    return status == KILN_OK ? object : NULL;
}

/* The maker and another thread that waits for it stay in the parent. */
Test(object_table, a_forked_child_makes_what_its_parent_is_making)
{
    enum { CHILD_SECONDS = 10, WAITER_MICROSECONDS = 50000 };
    atomic_store(&is_held, true);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, get_held, table), 0);
    while (!atomic_load(&is_making))
        (void)usleep(1000);
    (void)usleep(WAITER_MICROSECONDS);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        struct object *made = get(1);
        _exit(made->number == 1 && made == get(1) && atomic_load(&makes) == 1 ? 0 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    atomic_store(&is_held, false);
    for (int i = 0; i < 2; i++) {
        void *object = NULL;
        cr_assert_eq(pthread_join(threads[i], &object), 0);
        cr_assert_not_null(object);
        unref_object(object);
    }
    cr_expect_eq(atomic_load(&makes), 1);
}
