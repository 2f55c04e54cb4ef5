/*
 * The table that counts the shapes of computations.
 */
#include "runtime/engine/shape_choice.h"

#include <criterion/criterion.h>
#include <pthread.h>

enum { THREADS = 8, SHAPES = 64 };

static struct kiln_choice_table *table;

static void set_up(void)
{
    table = kiln_choice_table_create();
    cr_assert_not_null(table);
}

static void tear_down(void)
{
    kiln_choice_table_destroy(table);
}

TestSuite(shape_choice, .init = set_up, .fini = tear_down);

/* Numbers stand for graphs here. */
static struct kiln_hash128 hash(uint64_t number)
{
    return kiln_hash128(&number, sizeof number);
}

static struct kiln_shape_choice settle(uint64_t computation, uint64_t shape)
{
    return kiln_choice_table_settle(table, hash(computation), hash(shape), NULL);
}

Test(shape_choice, third_shape_takes_arguments)
{
    cr_expect(kiln_choice_table_is_early(table, hash(1)));
    cr_expect_eq(settle(1, 10).shapes, KILN_SHAPES_CONSTANT);
    cr_expect_eq(settle(1, 11).reason, KILN_SHAPE_FIRST);
    cr_expect_not(kiln_choice_table_is_early(table, hash(1)));
    cr_expect_eq(settle(1, 12).shapes, KILN_SHAPES_ARGUMENT);
    cr_expect_eq(settle(1, 12).reason, KILN_SHAPE_LATER);
    cr_expect_eq(settle(1, 10).shapes, KILN_SHAPES_CONSTANT, "a choice stays");
    cr_expect_eq(settle(2, 20).shapes, KILN_SHAPES_CONSTANT, "computations are counted apart");
}

Test(shape_choice, same_shape_counts_once)
{
    for (int i = 0; i < 5; i++)
        cr_expect_eq(settle(1, 10).shapes, KILN_SHAPES_CONSTANT);
    cr_expect(kiln_choice_table_is_early(table, hash(1)));
}

Test(shape_choice, what_caches_have_is_taken_and_counts)
{
    const struct kiln_shape_choice cached = {KILN_SHAPES_ARGUMENT, KILN_SHAPE_CACHED};
    struct kiln_shape_choice choice;
    cr_expect_not(kiln_choice_table_find(table, hash(10), &choice));
    choice = kiln_choice_table_settle(table, hash(1), hash(10), &cached);
    cr_expect_eq(choice.shapes, KILN_SHAPES_ARGUMENT);
    cr_expect_eq(settle(1, 10).reason, KILN_SHAPE_CACHED, "another thread has asked the caches");
    cr_assert(kiln_choice_table_find(table, hash(10), &choice));
    cr_expect_eq(choice.reason, KILN_SHAPE_CACHED);
    cr_expect_eq(settle(1, 11).shapes, KILN_SHAPES_CONSTANT);
    cr_expect_eq(settle(1, 12).shapes, KILN_SHAPES_ARGUMENT);
}

Test(shape_choice, table_is_bounded_and_the_oldest_leave)
{
    enum { MANY = 10 * KILN_CHOICE_SHAPE_PLACES * KILN_CHOICE_WAYS };
    struct kiln_shape_choice choice;
    (void)settle(1, 0);
    (void)settle(2, 1);
    for (uint64_t i = 2; i < MANY; i++) {
        (void)settle(2, i);
        (void)settle(2, 1);
    }
    cr_expect_not(kiln_choice_table_find(table, hash(0), &choice));
    cr_expect(kiln_choice_table_find(table, hash(1), &choice), "what is used stays");
    cr_expect_eq(choice.shapes, KILN_SHAPES_CONSTANT);
    cr_expect(kiln_choice_table_find(table, hash(MANY - 1), &choice));
    cr_expect_eq(settle(2, 0).shapes, KILN_SHAPES_ARGUMENT, "the computation is still counted");
}

struct seen {
    enum kiln_shapes shapes[SHAPES];
};

static void *settle_all(void *context)
{
    struct seen *seen = context;
    for (uint64_t i = 0; i < SHAPES; i++)
        seen->shapes[i] = settle(1, i).shapes;
    return NULL;
}

Test(shape_choice, threads_agree)
{
    static struct seen seen[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, settle_all, &seen[i]), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    int constants = 0;
    for (int shape = 0; shape < SHAPES; shape++) {
        constants += seen[0].shapes[shape] == KILN_SHAPES_CONSTANT;
        for (int i = 1; i < THREADS; i++)
            cr_expect_eq(seen[i].shapes[shape], seen[0].shapes[shape]);
    }
    cr_expect_eq(constants, KILN_CONSTANT_SHAPES);
}
