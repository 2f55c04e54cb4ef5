#include "runtime/support/log.h"

#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

TestSuite(log);

Test(log, initially_off_and_silent_without_a_sink)
{
    cr_assert_eq(kiln_log_level(), KILN_LOG_OFF);
    kiln_log(KILN_LOG_FATAL, "dropped");
    kiln_log_set_level(KILN_LOG_INFO);
    kiln_log(KILN_LOG_FATAL, "dropped for want of a sink");
}

Test(log, messages_below_the_level_are_dropped)
{
    captured_log_start(KILN_LOG_WARN);
    kiln_log(KILN_LOG_INFO, "no");
    cr_assert_str_eq(captured_log_last(), "");
    kiln_log(KILN_LOG_WARN, "the answer is %d", 42);
    cr_assert_str_eq(captured_log_last(), "the answer is 42");
    kiln_log(KILN_LOG_ERROR, "more");
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_assert_eq(captured_log_count(KILN_LOG_ERROR), 1);
    kiln_log_set_level(KILN_LOG_OFF);
    kiln_log(KILN_LOG_FATAL, "no");
    cr_assert_eq(captured_log_count(KILN_LOG_FATAL), 0);
}

Test(log, off_is_no_level_of_a_message)
{
    captured_log_start(KILN_LOG_OFF);
    kiln_log(KILN_LOG_OFF, "no");
    cr_assert_str_eq(captured_log_last(), "");
}

Test(log, long_messages_end_in_dots)
{
    static char longer[2 * KILN_LOG_MESSAGE_BYTES];
    memset(longer, 'a', sizeof longer - 1);
    captured_log_start(KILN_LOG_INFO);
    kiln_log(KILN_LOG_INFO, "%s", longer);
    cr_assert_eq(strlen(captured_log_last()), KILN_LOG_MESSAGE_BYTES - 1);
    cr_assert_str_eq(captured_log_last() + KILN_LOG_MESSAGE_BYTES - 5, "a...");
    longer[KILN_LOG_MESSAGE_BYTES - 1] = '\0';
    kiln_log(KILN_LOG_INFO, "%s", longer);
    cr_assert_str_eq(captured_log_last(), longer, "a message that just fits is whole");
}

static void spoil_errno(enum kiln_log_level level, const char *message)
{
    (void)level;
    (void)message;
    errno = EPERM;
}

Test(log, keeps_errno)
{
    kiln_log_set_sink(spoil_errno);
    kiln_log_set_level(KILN_LOG_INFO);
    errno = ENOENT;
    kiln_log(KILN_LOG_WARN, "x");
    cr_assert_eq(errno, ENOENT);
}

Test(log, a_sentence_with_its_hint_is_one_line)
{
    captured_log_start(KILN_LOG_INFO);
    kiln_log(KILN_LOG_INFO, "%s", "it failed\nhint: do\tthat\n");
    cr_assert_str_eq(captured_log_last(), "it failed; hint: do that");
}
