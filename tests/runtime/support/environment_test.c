#include "runtime/support/environment.h"

#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(environment);

#define WORKERS "KILN_COMPILE_WORKERS"

Test(environment, every_row_is_complete)
{
    for (unsigned i = 0; i < KILN_ENVIRONMENT_COUNT; i++) {
        const struct kiln_environment_info *info =
            kiln_environment_info((enum kiln_environment_variable)i);
        cr_assert_eq(strncmp(info->name, "KILN_", 5), 0, "'%s'", info->name);
        cr_assert_str_not_empty(info->default_text, "default of '%s'", info->name);
        cr_assert_str_not_empty(info->text, "text of '%s'", info->name);
    }
}

Test(environment, text_tells_unset_from_empty)
{
    unsetenv("KILN_CACHE_DIR");
    cr_assert_null(kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR));
    setenv("KILN_CACHE_DIR", "", 1);
    cr_assert_str_empty(kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR));
    setenv("KILN_CACHE_DIR", "x", 1);
    cr_assert_str_eq(kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR), "x");
}

Test(environment, flag)
{
    static const struct {
        const char *text;
        bool flag;
    } cases[] = {
        {"1", true},      {"true", true},    {"YES", true},       {"On", true},  {"", false},
        {"0", false},     {"no", false},     {"2", false},        {"1 ", false}, {"off", false},
        {"enable", true}, {"Enabled", true}, {"disabled", false},
    };
    unsetenv("KILN_HOST_SANITIZE");
    cr_assert_not(kiln_environment_flag(KILN_ENVIRONMENT_KILN_HOST_SANITIZE));
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("KILN_HOST_SANITIZE", cases[i].text, 1);
        cr_assert_eq(kiln_environment_flag(KILN_ENVIRONMENT_KILN_HOST_SANITIZE), cases[i].flag,
                     "'%s'", cases[i].text);
    }
}

Test(environment, a_word_that_is_neither_on_nor_off_is_told_of)
{
    captured_log_start(KILN_LOG_WARN);
    setenv("KILN_HOST_SANITIZE", "ture", 1);
    for (int i = 0; i < 2; i++)
        cr_expect_not(kiln_environment_flag(KILN_ENVIRONMENT_KILN_HOST_SANITIZE));
    cr_expect_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_expect_str_eq(captured_log_last(), "environment variable 'KILN_HOST_SANITIZE' is 'ture', "
                                          "neither on nor off; it counts as off; hint: 1 or 0");
}

static uint64_t number_of(const char *text, uint64_t low, uint64_t high)
{
    setenv(WORKERS, text, 1);
    return kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_WORKERS, low, high, 99);
}

Test(environment, number_in_range)
{
    captured_log_start(KILN_LOG_WARN);
    unsetenv(WORKERS);
    cr_assert_eq(kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_WORKERS, 1, 256, 2), 2);
    cr_assert_eq(number_of("", 1, 256), 99);
    cr_assert_eq(number_of("1", 1, 256), 1);
    cr_assert_eq(number_of("256", 1, 256), 256);
    cr_assert_eq(number_of("0007", 1, 256), 7);
    cr_assert_eq(number_of("18446744073709551615", 0, UINT64_MAX), UINT64_MAX);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
}

Test(environment, other_numbers_fall_back_with_a_warning)
{
    static const char *const texts[] = {
        "0",
        "257",
        "-1",
        "+1",
        " 1",
        "1 ",
        "0x10",
        "1.5",
        "many",
        "18446744073709551616",
        "99999999999999999999999999",
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        captured_log_start(KILN_LOG_WARN);
        cr_assert_eq(number_of(texts[i], 1, 256), 99, "'%s'", texts[i]);
        cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1, "'%s'", texts[i]);
    }
    number_of("many", 1, 256);
    cr_assert_str_eq(captured_log_last(), "environment variable 'KILN_COMPILE_WORKERS' is 'many', "
                                          "not a number from 1 to 256; using 99");
}
