/* Answers about graphs by their bytes: found, overwritten, and never mixed up by threads. */
#include "runtime/engine/seen_graphs.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kiln_seen_graphs *graphs;
static struct kiln_error error;

static void init(void)
{
    graphs = calloc(1, sizeof *graphs);
    cr_assert_not_null(graphs);
    kiln_error_init(&error);
}

static void fini(void)
{
    kiln_seen_graphs_fini(graphs);
    free(graphs);
}

TestSuite(seen_graphs, .init = init, .fini = fini);

static struct kiln_hash128 name_of(uint64_t number)
{
    return kiln_seen_graphs_name(kiln_hash128(&number, sizeof number), 0);
}

/* The answer's kind; a taken graph's epoch must be its number. */
static enum kiln_seen_kind find(uint64_t number)
{
    uint32_t epoch = 0;
    enum kiln_seen_kind kind = kiln_seen_graphs_find(graphs, name_of(number), &epoch, &error);
    if (kind == KILN_SEEN_TAKEN || kind == KILN_SEEN_IN_MEMORY)
        cr_expect_eq(epoch, (uint32_t)number);
    return kind;
}

static void decline(uint64_t number, uint32_t reason, const char *text)
{
    struct kiln_error why;
    kiln_error_init(&why);
    (void)kiln_error_set(&why, KILN_REJECTED, "%s", text);
    why.reject_reason = reason;
    kiln_seen_graphs_add_declined(graphs, name_of(number), &why);
}

Test(seen_graphs, answers_are_found)
{
    cr_expect_eq(find(1), KILN_SEEN_NOT);
    kiln_seen_graphs_add(graphs, name_of(1), KILN_SEEN_TAKEN, 1);
    kiln_seen_graphs_add(graphs, name_of(UINT32_MAX), KILN_SEEN_IN_MEMORY, UINT32_MAX);
    cr_expect_eq(find(1), KILN_SEEN_TAKEN);
    cr_expect_eq(find(UINT32_MAX), KILN_SEEN_IN_MEMORY);
    cr_expect_eq(find(2), KILN_SEEN_NOT);
    kiln_seen_graphs_add(graphs, name_of(1), KILN_SEEN_IN_MEMORY, 1);
    cr_expect_eq(find(1), KILN_SEEN_IN_MEMORY, "a newer answer takes the place of the older one");
}

Test(seen_graphs, devices_have_their_own_answers)
{
    uint64_t number = 5;
    struct kiln_hash128 bytes = kiln_hash128(&number, sizeof number);
    uint32_t epoch = 0;
    kiln_seen_graphs_add(graphs, kiln_seen_graphs_name(bytes, 3), KILN_SEEN_TAKEN, 9);
    cr_expect_eq(kiln_seen_graphs_find(graphs, kiln_seen_graphs_name(bytes, 2), &epoch, &error),
                 KILN_SEEN_NOT);
    cr_expect_eq(kiln_seen_graphs_find(graphs, kiln_seen_graphs_name(bytes, 3), &epoch, &error),
                 KILN_SEEN_TAKEN);
    cr_expect_eq(epoch, 9);
}

Test(seen_graphs, declined_graphs_keep_their_reason)
{
    decline(1, 7, "node 'a' is wrong");
    decline(2, 8, "node 'b' is wrong");
    decline(3, 7, "node 'a' is wrong");
    cr_expect_eq(find(2), KILN_SEEN_DECLINED);
    cr_expect_eq(error.status, KILN_REJECTED);
    cr_expect_eq(error.reject_reason, 8);
    cr_expect_str_eq(error.text, "node 'b' is wrong");
    cr_expect_eq(find(3), KILN_SEEN_DECLINED);
    cr_expect_eq(error.reject_reason, 7);
    cr_expect_str_eq(error.text, "node 'a' is wrong");
}

/* More sentences than there is room for: those that are found are right. */
Test(seen_graphs, sentences_are_bounded)
{
    enum { COUNT = 3 * KILN_SEEN_GRAPHS_REASONS };
    char text[64];
    unsigned found = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(text, sizeof text, "sentence %u", i);
        decline(i, i, text);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        if (find(i) == KILN_SEEN_NOT)
            continue;
        (void)snprintf(text, sizeof text, "sentence %u", i);
        cr_assert_str_eq(error.text, text);
        cr_assert_eq(error.reject_reason, i);
        found++;
    }
    cr_expect_gt(found, KILN_SEEN_GRAPHS_REASONS / 2);
    cr_expect_leq(found, KILN_SEEN_GRAPHS_REASONS);
}

Test(seen_graphs, graphs_are_bounded)
{
    enum { SLOTS = KILN_SEEN_GRAPHS_BUCKETS * KILN_SEEN_GRAPHS_WAYS, COUNT = 3 * SLOTS };
    unsigned found = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        kiln_seen_graphs_add(graphs, name_of(i), KILN_SEEN_TAKEN, (uint32_t)i);
        cr_assert_eq(find(i), KILN_SEEN_TAKEN, "the newest is there");
    }
    for (uint64_t i = 0; i < COUNT; i++)
        found += find(i) != KILN_SEEN_NOT;
    cr_expect_gt(found, SLOTS / 2);
}

/* Names of one bucket, so that threads write the same slots. */
static struct kiln_hash128 crowded_name(uint64_t number)
{
    return (struct kiln_hash128){.high = number * UINT64_C(0x9e3779b97f4a7c15), .low = 12345};
}

static void *add_and_find(void *unused)
{
    enum { ROUNDS = 200000, NAMES = 12 };
    (void)unused;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t number = i % NAMES + 1;
        uint32_t epoch = 0;
        struct kiln_error ignored;
        kiln_seen_graphs_add(graphs, crowded_name(number), KILN_SEEN_TAKEN, (uint32_t)number);
        number = (i * 7) % NAMES + 1;
        enum kiln_seen_kind kind =
            kiln_seen_graphs_find(graphs, crowded_name(number), &epoch, &ignored);
        wrong += kind != KILN_SEEN_NOT && (kind != KILN_SEEN_TAKEN || epoch != number);
    }
    return (void *)(uintptr_t)wrong;
}

Test(seen_graphs, threads_never_find_the_answer_of_another_graph)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, add_and_find, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        cr_assert_eq(pthread_join(threads[i], &wrong), 0);
        cr_expect_null(wrong);
    }
}
