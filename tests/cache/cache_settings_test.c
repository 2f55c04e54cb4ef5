#include "cache/cache_settings.h"

#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void assert_bytes(const char *text, uint64_t expected)
{
    uint64_t bytes = 0;
    cr_assert(kiln_cache_bytes_parse(text, &bytes), "%s", text);
    cr_assert_eq(bytes, expected, "%s", text);
}

Test(cache_settings, amounts)
{
    assert_bytes("0", 0);
    assert_bytes("1", 1);
    assert_bytes("0012", 12);
    assert_bytes("3k", 3072);
    assert_bytes("3K", 3072);
    assert_bytes("3KiB", 3072);
    assert_bytes("2M", 2 << 20);
    assert_bytes("2mb", 2 << 20);
    assert_bytes("1G", 1 << 30);
    assert_bytes("1t", (uint64_t)1 << 40);
    assert_bytes("18446744073709551615", UINT64_MAX);
    assert_bytes("16777215T", (uint64_t)16777215 << 40);
}

Test(cache_settings, what_is_no_amount)
{
    static const char *const texts[] = {"",          " 1",
                                        "1 ",        "-1",
                                        "+1",        "1.5G",
                                        "G",         "1X",
                                        "1GG",       "1Gi",
                                        "0x10",      "1e9",
                                        "1 G",       "18446744073709551616",
                                        "16777216T", "99999999999999999999999999K"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t bytes = 77;
        cr_assert_not(kiln_cache_bytes_parse(texts[i], &bytes), "'%s'", texts[i]);
        cr_assert_eq(bytes, 77);
    }
}

Test(cache_settings, the_limit_of_the_environment)
{
    captured_log_start(KILN_LOG_WARN);
    unsetenv("KILN_CACHE_MAX_SIZE");
    cr_assert_eq(kiln_cache_max_bytes_setting(), 1 << 30);
    setenv("KILN_CACHE_MAX_SIZE", "", 1);
    cr_assert_eq(kiln_cache_max_bytes_setting(), 1 << 30);
    setenv("KILN_CACHE_MAX_SIZE", "0", 1);
    cr_assert_eq(kiln_cache_max_bytes_setting(), 0);
    setenv("KILN_CACHE_MAX_SIZE", "500M", 1);
    cr_assert_eq(kiln_cache_max_bytes_setting(), 500 << 20);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    setenv("KILN_CACHE_MAX_SIZE", "much", 1);
    cr_assert_eq(kiln_cache_max_bytes_setting(), 1 << 30);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_not_null(strstr(captured_log_last(), "'much'"));
}
