/*
 * What a shared cache asks its server, and which of the answers it takes for an entry.
 */
#include "cache/remote_cache.h"

#include "cache/entry_format.h"
#include "cache/remote_connection.h"
#include "tests/cache/remote_fixture.h"
#include "tests/cache/sample_key.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(remote_cache, .init = remote_fixture_set_up, .fini = remote_fixture_tear_down,
          .timeout = 200);

/* What some of the handlers answer. */
static const char *raw_answer;
static size_t raw_bytes;

Test(remote_cache, what_was_stored_is_found)
{
    struct kiln_remote_cache *remote = remote_fixture_start(remote_fixture_keep_value);
    assert_miss(remote);
    remote_fixture_store(remote);
    remote_fixture_await(&remote_fixture.sets, 1);
    assert_hit(remote);
    kiln_remote_cache_close(remote);
    /* Also what is stored right before the end. */
    remote = remote_fixture_open("", REMOTE_PATIENT);
    remote_fixture_store(remote);
    kiln_remote_cache_close(remote);
    cr_assert_eq(remote_fixture.sets, 2);
    assert_warned(0);
}

static char last_key[128];

static bool note_key(int connection, const struct fake_redis_command *command)
{
    (void)snprintf(last_key, sizeof last_key, "%s", command->arguments[1]);
    return remote_fixture_keep_value(connection, command);
}

Test(remote_cache, keys_and_values_are_the_documented_ones)
{
    const struct kiln_buffer *entry = &remote_fixture.entry;
    const struct kiln_buffer *served = &remote_fixture.served;
    struct kiln_remote_cache *remote = remote_fixture_start(note_key);
    char expected[128] = "kiln:3:";
    kiln_cache_key_hex(&remote_fixture.key, expected + strlen(expected));
    assert_miss(remote);
    cr_assert_str_eq(last_key, expected);
    last_key[0] = '\0';
    remote_fixture_store(remote);
    kiln_remote_cache_close(remote);
    cr_assert_str_eq(last_key, expected);
    cr_assert_eq(served->size, entry->size);
    cr_assert_eq(memcmp(served->data, entry->data, entry->size), 0);
}

Test(remote_cache, the_name_has_no_password)
{
    fake_redis_start(remote_fixture_keep_value);
    struct kiln_remote_cache *remote;
    cr_assert_eq(kiln_remote_cache_open("redis://u:secret@[::1]:7/3?timeout=9", &remote,
                                        &remote_fixture.error),
                 KILN_OK);
    cr_assert_str_eq(kiln_remote_cache_name(remote), "redis://[::1]:7/3");
    kiln_remote_cache_close(remote);
    cr_assert_eq(kiln_remote_cache_open("redis://u:secret@[::1", &remote, &remote_fixture.error),
                 KILN_BAD_ARGUMENT);
    cr_assert_null(strstr(remote_fixture.error.text, "secret"));
    kiln_remote_cache_close(NULL);
    cr_assert_eq(fake_redis_connections(), 0);
}

Test(remote_cache, every_flipped_bit_is_a_miss)
{
    const size_t bits = 8 * remote_fixture.entry.size;
    struct kiln_remote_cache *remote = remote_fixture_start(remote_fixture_keep_value);
    for (size_t bit = 0; bit < bits; bit++) {
        remote_fixture_serve_entry();
        remote_fixture.served.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_miss(remote);
    }
    remote_fixture_serve_entry();
    assert_hit(remote);
    cr_assert_eq(remote_fixture.gets, bits + 1, "every one was asked for");
    cr_assert_eq(fake_redis_connections(), 1);
    assert_warned(1);
    kiln_remote_cache_close(remote);
}

Test(remote_cache, every_truncation_is_a_miss)
{
    struct kiln_buffer *entry = &remote_fixture.entry;
    struct kiln_remote_cache *remote = remote_fixture_start(remote_fixture_keep_value);
    for (size_t size = 0; size < entry->size; size++) {
        remote_fixture_serve(entry->data, size);
        assert_miss(remote);
    }
    kiln_buffer_append(entry, "", 1);
    remote_fixture_serve_entry();
    assert_miss(remote);
    entry->size--;
    remote_fixture_serve_entry();
    assert_hit(remote);
    cr_assert_eq(remote_fixture.gets, entry->size + 2);
    cr_assert_eq(fake_redis_connections(), 1);
    kiln_remote_cache_close(remote);
}

/* A sound entry of another key, also of one with the same hash, which only looks so here. */
Test(remote_cache, an_entry_of_another_key_is_a_miss)
{
    struct kiln_remote_cache *remote = remote_fixture_start(remote_fixture_keep_value);
    struct kiln_cache_key other = sample_key(8);
    other.hash_high = remote_fixture.key.hash_high;
    other.hash_low = remote_fixture.key.hash_low;
    struct kiln_buffer forged;
    kiln_buffer_init(&forged);
    cr_assert_eq(kiln_entry_encode(&other, NULL, "other", 5, &forged, &remote_fixture.error),
                 KILN_OK);
    remote_fixture_serve(forged.data, forged.size);
    assert_miss(remote);
    assert_logged("it is of another key");
    kiln_buffer_fini(&forged);
    kiln_buffer_init(&forged);
    kiln_cache_key_fini(&other);

    /* The key in the entry is the beginning of the one that is sought, and the other way round. */
    struct kiln_cache_key longer = sample_key(7);
    kiln_cache_key_add_text(&longer, "more");
    remote_fixture_serve_entry();
    struct kiln_cache_key shorter = remote_fixture.key;
    remote_fixture.key = longer;
    assert_miss(remote);
    remote_fixture.key = shorter;
    cr_assert_eq(kiln_entry_encode(&longer, NULL, "other", 5, &forged, &remote_fixture.error),
                 KILN_OK);
    remote_fixture_serve(forged.data, forged.size);
    assert_miss(remote);
    cr_assert_eq(remote_fixture.gets, 3);
    kiln_buffer_fini(&forged);
    kiln_cache_key_fini(&longer);
    kiln_remote_cache_close(remote);
}

static bool answer_raw(int connection, const struct fake_redis_command *command)
{
    (void)command;
    remote_fixture.gets++;
    return fake_redis_send(connection, raw_answer, raw_bytes) && raw_answer[raw_bytes - 1] == '\n';
}

/* What does not speak the protocol is a miss, and is left alone for a while. */
Test(remote_cache, garbage_is_a_miss)
{
#define RAW(text) {text, sizeof text - 1}
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
        RAW("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
        RAW("SSH-2.0-OpenSSH_9.2\r\n"),
        RAW("\0\0\0\0\n"),
        RAW("\r\n"),
        RAW("+OK\r\n"),
        RAW("+\r\n"),
        RAW(":1\r\n"),
        RAW(":\r\n"),
        RAW("-ERR no\r\n"),
        RAW("-\r\n"),
        RAW("$\r\n"),
        RAW("$-2\r\n"),
        RAW("$-1\r\n$-1\r\n"),
        RAW("$+5\r\nvalue\r\n"),
        RAW("$5 \r\nvalue\r\n"),
        RAW("$0x5\r\nvalue\r\n"),
        RAW("$00000000000000000000000000000000005\r\nvalue\r\n"),
        RAW("$5\r\nvalue and more\r\n"),
        RAW("$5\r\nval"),
        RAW("$5"),
        RAW("$"),
        RAW("*1\r\n$5\r\nvalue\r\n"),
        RAW("*0\r\n"),
        RAW("*-1\r\n"),
        RAW("*2147483647\r\n"),
        RAW("*9223372036854775807\r\n"),
        RAW("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n$1\r\nx\r\n"),
        RAW("%1\r\n+a\r\n+b\r\n"),
        RAW("=9\r\ntxt:value\r\n"),
        RAW(",1.5\r\n"),
        RAW("#t\r\n"),
        RAW("(1234567890\r\n"),
        RAW(">1\r\n+push\r\n"),
    };
    fake_redis_start(answer_raw);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_answer = cases[i].text;
        raw_bytes = cases[i].size;
        struct kiln_remote_cache *remote = remote_fixture_open("", REMOTE_PATIENT);
        unsigned before = remote_fixture.gets;
        assert_miss(remote);
        cr_assert_eq(remote_fixture.gets, before + 1, "'%s'", raw_answer);
        for (unsigned again = 0; again < 5; again++)
            assert_miss(remote);
        /* Once more at most, on a machine that stood still for the whole pause. */
        cr_assert_leq(remote_fixture.gets, before + 2, "'%s' was asked for again at once",
                      raw_answer);
        kiln_remote_cache_close(remote);
    }
    assert_warned(1);
}

/* Lengths that nobody allocates, whatever the server says. */
Test(remote_cache, enormous_lengths_are_misses)
{
    static const char *const cases[] = {
        "$16777217\r\n",
        "$268435456\r\n",
        "$536870912\r\n",
        "$4294967296\r\n",
        "$9223372036854775807\r\n",
        "$18446744073709551615\r\n",
        "$18446744073709551621\r\n",
    };
    struct kiln_remote_cache *remote = remote_fixture_start(answer_raw);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_answer = cases[i];
        raw_bytes = strlen(cases[i]);
        assert_miss(remote);
        /* It answers: it is asked again, on another connection. */
        cr_assert_eq(remote_fixture.gets, i + 1);
        cr_assert_eq(fake_redis_connections(), i + 1);
    }
    assert_logged("larger than any entry");
    kiln_remote_cache_close(remote);
}

static bool send_without_end(int connection, const struct fake_redis_command *command)
{
    (void)command;
    static char noise[65536];
    memset(noise, 'x', sizeof noise);
    if (!fake_redis_send_text(connection, "+"))
        return false;
    while (fake_redis_send(connection, noise, sizeof noise)) {
    }
    return false;
}

Test(remote_cache, a_line_without_end_is_a_miss)
{
    struct kiln_remote_cache *remote = remote_fixture_start(send_without_end);
    assert_miss(remote);
    assert_logged("does not speak the Redis protocol");
    kiln_remote_cache_close(remote);
}

/* Some servers repeat the command that they do not like. */
static bool echo_arguments(int connection, const struct fake_redis_command *command)
{
    static char password[64];
    if (strcmp(command->arguments[0], "AUTH") == 0) {
        (void)snprintf(password, sizeof password, "%s", command->arguments[command->count - 1]);
        return fake_redis_send_text(connection, raw_answer);
    }
    char answer[128];
    (void)snprintf(answer, sizeof answer, "-ERR you said %s before\r\n", password);
    return fake_redis_send_text(connection, answer);
}

Test(remote_cache, the_password_is_never_logged)
{
    static const char *const to_login[] = {"+OK\r\n", "-ERR wrong 'TopSecret'\r\n",
                                           "+TopSecret\r\n", "$9\r\nTopSecret\r\n"};
    fake_redis_start(echo_arguments);
    for (size_t i = 0; i < sizeof to_login / sizeof *to_login; i++) {
        raw_answer = to_login[i];
        struct kiln_remote_cache *remote = remote_fixture_open("kiln:TopSecret@", REMOTE_PATIENT);
        assert_miss(remote);
        cr_assert_null(strstr(remote_fixture.error.text, "TopSecret"), "%s",
                       remote_fixture.error.text);
        kiln_remote_cache_close(remote);
    }
    assert_logged("it refuses the user or the password");
    assert_logged("cannot be shown");
    cr_assert_not(remote_fixture_has_logged("TopSecret"), "%s", remote_fixture_log());
}

Test(remote_cache, entries_that_are_too_large_are_not_sent)
{
    struct kiln_remote_cache *remote = remote_fixture_start(remote_fixture_keep_value);
    size_t size = KILN_REMOTE_VALUE_LIMIT_BYTES + (size_t)1;
    char *large = calloc(1, size);
    kiln_remote_cache_store(remote, &remote_fixture.key, 0, large, size);
    remote_fixture_store(remote);
    remote_fixture_await(&remote_fixture.sets, 1);
    cr_assert_eq(remote_fixture.served.size, remote_fixture.entry.size);
    assert_logged("too large for the shared cache");
    kiln_remote_cache_close(remote);
    free(large);
}
