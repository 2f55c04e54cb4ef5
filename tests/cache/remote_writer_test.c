#include "cache/remote_writer.h"

#include "runtime/support/subprocess.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(remote_writer, .timeout = 120);

static struct {
    _Atomic unsigned sent;
    _Atomic size_t bytes;
    _Atomic bool blocked;      /* senders wait until this is false, or they have to give up */
    _Atomic bool has_to_hurry; /* a sender saw a time to give up */
} seen;

static void send_one(void *context, const char *key, const void *value, size_t size,
                     const _Atomic uint64_t *give_up_ms)
{
    cr_assert_eq(context, &seen);
    char expected[16];
    (void)snprintf(expected, sizeof expected, "key %u", (unsigned)seen.sent);
    cr_assert_str_eq(key, expected);
    for (size_t i = 0; i < size; i++)
        cr_assert_eq(((const char *)value)[i], 'v');
    seen.sent++;
    seen.bytes += size;
    while (seen.blocked && kiln_monotonic_milliseconds() < *give_up_ms)
        (void)usleep(1000);
    if (*give_up_ms != UINT64_MAX)
        seen.has_to_hurry = true;
}

static bool push(struct kiln_remote_writer *writer, unsigned number, size_t size)
{
    char key[16];
    char *value = malloc(size + 1);
    memset(value, 'v', size);
    (void)snprintf(key, sizeof key, "key %u", number);
    bool taken = kiln_remote_writer_push(writer, key, value, size);
    free(value);
    return taken;
}

Test(remote_writer, sends_in_order_and_before_it_ends)
{
    struct kiln_remote_writer *writer = kiln_remote_writer_create(send_one, &seen);
    for (unsigned i = 0; i < 100; i++)
        cr_assert(push(writer, i, i));
    kiln_remote_writer_destroy(writer);
    cr_assert_eq(seen.sent, 100);
    cr_assert_eq(seen.bytes, 99 * 100 / 2);
    kiln_remote_writer_destroy(NULL);
}

Test(remote_writer, ends_when_nothing_was_stored)
{
    kiln_remote_writer_destroy(kiln_remote_writer_create(send_one, &seen));
    cr_assert_eq(seen.sent, 0);
}

/* One is being sent, so one more than the limit is taken. */
Test(remote_writer, what_waits_is_bounded_and_dropped_at_the_end)
{
    seen.blocked = true;
    struct kiln_remote_writer *writer = kiln_remote_writer_create(send_one, &seen);
    cr_assert(push(writer, 0, 1));
    while (seen.sent == 0)
        (void)usleep(1000);
    for (unsigned i = 1; i <= KILN_REMOTE_QUEUE_VALUES; i++)
        cr_assert(push(writer, i, 1), "value %u", i);
    cr_assert_not(push(writer, 0, 1));
    kiln_remote_writer_destroy(writer);
    cr_assert_eq(seen.sent, 1);
    cr_assert(seen.has_to_hurry);
}

Test(remote_writer, bytes_that_wait_are_bounded)
{
    seen.blocked = true;
    struct kiln_remote_writer *writer = kiln_remote_writer_create(send_one, &seen);
    cr_assert_not(push(writer, 0, KILN_REMOTE_QUEUE_BYTES + (size_t)1));
    cr_assert_not(kiln_remote_writer_push(writer, "key", "", SIZE_MAX));
    cr_assert(push(writer, 0, 1));
    while (seen.sent == 0)
        (void)usleep(1000);
    size_t quarter = KILN_REMOTE_QUEUE_BYTES / 4;
    for (unsigned i = 1; i <= 4; i++)
        cr_assert(push(writer, i, quarter));
    cr_assert_not(push(writer, 5, 1));
    /* Room comes back as values go. */
    seen.blocked = false;
    while (seen.sent < 5)
        (void)usleep(1000);
    cr_assert(push(writer, 5, quarter));
    kiln_remote_writer_destroy(writer);
    cr_assert_eq(seen.sent, 6);
}
