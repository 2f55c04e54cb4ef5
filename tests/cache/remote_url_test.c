#include "cache/remote_url.h"

#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct kiln_error error;

static struct kiln_remote_url parsed(const char *text)
{
    struct kiln_remote_url url;
    kiln_error_init(&error);
    cr_assert_eq(kiln_remote_url_parse(text, &url, &error), KILN_OK, "'%s': %s", text, error.text);
    return url;
}

static void assert_url(const char *text, const char *host, unsigned port, const char *user,
                       const char *password, unsigned database, unsigned timeout_ms)
{
    struct kiln_remote_url url = parsed(text);
    cr_assert_str_eq(url.host, host, "'%s'", text);
    cr_assert_eq(url.port, port, "'%s'", text);
    cr_assert_str_eq(url.user, user, "'%s'", text);
    cr_assert_str_eq(url.password, password, "'%s'", text);
    cr_assert_eq(url.database, database, "'%s'", text);
    cr_assert_eq(url.timeout_ms, timeout_ms, "'%s'", text);
}

Test(remote_url, parts)
{
    assert_url("redis://cache", "cache", 6379, "", "", 0, 100);
    assert_url("redis://cache/", "cache", 6379, "", "", 0, 100);
    assert_url("redis://cache:1/15", "cache", 1, "", "", 15, 100);
    assert_url("redis://10.0.0.7:65535", "10.0.0.7", 65535, "", "", 0, 100);
    assert_url("redis://[::1]", "::1", 6379, "", "", 0, 100);
    assert_url("redis://[fe80::1%eth0]:7/2", "fe80::1%eth0", 7, "", "", 2, 100);
    assert_url("redis://:secret@a.b-c_d", "a.b-c_d", 6379, "", "secret", 0, 100);
    assert_url("redis://kiln:secret@cache:7000/3?timeout=250", "cache", 7000, "kiln", "secret", 3,
               250);
    assert_url("redis://cache?timeout=60000", "cache", 6379, "", "", 0, 60000);
}

Test(remote_url, passwords_with_any_character)
{
    assert_url("redis://u%3aser:p%40%2F%3f%25%3A@cache", "cache", 6379, "u:ser", "p@/?%:", 0, 100);
    /* The last '@' is the one before the host, and the first ':' the one behind the user. */
    assert_url("redis://:p@ss:word@cache:1", "cache", 1, "", "p@ss:word", 0, 100);
}

Test(remote_url, what_is_wrong)
{
    static const struct {
        const char *text;
        const char *problem;
    } cases[] = {
        {"", "does not start with 'redis://'"},
        {"cache:6379", "does not start with 'redis://'"},
        {"REDIS://cache", "does not start with 'redis://'"},
        {"rediss://cache", "TLS"},
        {"redis://", "no host"},
        {"redis://:6379", "no host"},
        {"redis://:secret@", "no host"},
        {"redis://[]", "no host"},
        {"redis://[::1", "'[' without a ']'"},
        {"redis://[::1]x", "other than a port"},
        {"redis://ca che", "neither a name nor an address"},
        {"redis://cache\n", "neither a name nor an address"},
        {"redis://::1", "no host"},
        {"redis://fe80::1", "port that is no number"},
        {"redis://cache:", "port that is no number"},
        {"redis://cache:0", "port that is no number"},
        {"redis://cache:65536", "port that is no number"},
        {"redis://cache:99999999999999999999", "port that is no number"},
        {"redis://cache:-1", "port that is no number"},
        {"redis://cache:6379x", "port that is no number"},
        {"redis://user@cache", "user and no password"},
        {"redis://user:@cache", "empty password"},
        {"redis://:%@cache", "badly encoded"},
        {"redis://:%4@cache", "badly encoded"},
        {"redis://:%00@cache", "badly encoded"},
        {"redis://:%zz@cache", "badly encoded"},
        {"redis://%00:x@cache", "badly encoded"},
        {"redis://cache/x", "database that is no number"},
        {"redis://cache/1/2", "database that is no number"},
        {"redis://cache/-1", "database that is no number"},
        {"redis://cache/100000", "database that is no number"},
        {"redis://cache/0?", NULL},
        {"redis://cache?db=1", "option other than 'timeout'"},
        {"redis://cache?timeout", "option other than 'timeout'"},
        {"redis://cache?timeout=", "time-out that is no number"},
        {"redis://cache?timeout=0", "time-out that is no number"},
        {"redis://cache?timeout=60001", "time-out that is no number"},
        {"redis://cache?timeout=1s", "time-out that is no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_remote_url url = {.port = 77};
        kiln_error_init(&error);
        enum kiln_status status = kiln_remote_url_parse(cases[i].text, &url, &error);
        if (cases[i].problem == NULL) {
            cr_assert_eq(status, KILN_OK, "'%s': %s", cases[i].text, error.text);
            continue;
        }
        cr_assert_eq(status, KILN_BAD_ARGUMENT, "'%s'", cases[i].text);
        cr_assert_eq(url.port, 77, "a failure touched the result");
        cr_assert_not_null(strstr(error.text, cases[i].problem), "'%s': %s", cases[i].text,
                           error.text);
        cr_assert_not_null(strstr(error.text, "\nhint: "));
    }
}

Test(remote_url, long_parts_are_refused)
{
    static const char *const formats[] = {
        "redis://%s",       "redis://:%s@cache",        "redis://%s:x@cache", "redis://cache:%s",
        "redis://cache/%s", "redis://cache?timeout=%s", "redis://[%s]"};
    static char part[100001];
    static char text[100101];
    memset(part, '1', sizeof part - 1);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct kiln_remote_url url;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(text, sizeof text, formats[i], part);
#pragma GCC diagnostic pop
        cr_assert_eq(kiln_remote_url_parse(text, &url, &error), KILN_BAD_ARGUMENT, "%s",
                     formats[i]);
    }
    /* The longest that fits is taken whole. */
    struct kiln_remote_url url;
    part[sizeof url.password - 1] = '\0';
    (void)snprintf(text, sizeof text, "redis://:%s@cache", part);
    cr_assert_str_eq(parsed(text).password, part);
}

/* Damage of every kind: never a crash, strings within their arrays, and no part of the password in
 * an error. */
Test(remote_url, damaged_text)
{
    static const char good[] = "redis://kiln:TopSecret%21@[::1]:6379/12?timeout=100";
    static const char marks[] = "/:@?[]%=. 09aZ\n\x80\xff";
    struct kiln_random random = {20251121};
    unsigned refused = 0;
    for (unsigned round = 0; round < 50000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        unsigned changes = 1 + kiln_random_below(&random, 4);
        for (unsigned i = 0; i < changes; i++)
            text[kiln_random_below(&random, sizeof good - 1)] =
                marks[kiln_random_below(&random, sizeof marks - 1)];
        struct kiln_remote_url url;
        kiln_error_init(&error);
        if (kiln_remote_url_parse(text, &url, &error) == KILN_OK) {
            cr_assert(strlen(url.host) > 0 && url.port > 0 && url.timeout_ms > 0, "'%s'", text);
        } else {
            refused++;
            cr_assert_null(strstr(error.text, "Secret"), "'%s': %s", text, error.text);
            cr_assert_null(strstr(error.text, "kiln:"), "'%s': %s", text, error.text);
        }
    }
    cr_assert_gt(refused, 1000);
}
