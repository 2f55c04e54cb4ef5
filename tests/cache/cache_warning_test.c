#include "cache/cache_warning.h"

#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(cache_warning, each_cause_is_told_once)
{
    captured_log_start(KILN_LOG_INFO);
    kiln_cache_warn_once("insert", "cannot write 'a': No space left", "%s", "one");
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_str_eq(captured_log_last(), "one");
    /* Another file, the same cause. */
    kiln_cache_warn_once("insert", "cannot write 'b: c': No space left\nhint: x: y", "%s", "two");
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_eq(captured_log_count(KILN_LOG_INFO), 1);
    cr_assert_str_eq(captured_log_last(), "two");
    /* Another cause, another activity. */
    kiln_cache_warn_once("insert", "cannot write 'a': Input/output error", "%s", "three");
    kiln_cache_warn_once("evict", "cannot write 'a': Input/output error", "%s", "four");
    kiln_cache_warn_once("evict", "no colon", "%s", "five");
    kiln_cache_warn_once("evict", "no colon", "%s", "six");
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 4);
    kiln_cache_warnings_forget();
    kiln_cache_warn_once("evict", "no colon", "%s", "seven");
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 5);
}

Test(cache_warning, there_is_an_end_to_causes)
{
    captured_log_start(KILN_LOG_WARN);
    for (unsigned i = 0; i < 1000; i++) {
        char reason[32];
        (void)snprintf(reason, sizeof reason, "x: %u", i);
        kiln_cache_warn_once("test", reason, "%u", i);
    }
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 64);
}
