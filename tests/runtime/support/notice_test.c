/*
 * Notices: once per process, in one place.
 */
#include "runtime/support/notice.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/captured_stderr.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(notice, .init = captured_stderr_start);

Test(notice, is_told_on_standard_error_once_with_logging_off)
{
    errno = ENOSPC;
    kiln_notice("KILN_%s is wrong\nhint: correct it", "THIS");
    cr_expect_eq(errno, ENOSPC);
    kiln_notice("KILN_%s is wrong\nhint: correct it", "THIS");
    kiln_notice("KILN_%s is wrong", "THAT");
    cr_expect_str_eq(captured_stderr_text(), "kiln: KILN_THIS is wrong; hint: correct it\n"
                                             "kiln: KILN_THAT is wrong\n");
}

Test(notice, goes_to_a_log_that_takes_warnings_instead)
{
    captured_log_start(KILN_LOG_WARN);
    kiln_notice("KILN_THIS is wrong");
    kiln_notice("KILN_THIS is wrong");
    cr_expect_eq(captured_log_count(KILN_LOG_WARN), 1);
    cr_expect_str_eq(captured_log_last(), "KILN_THIS is wrong");
    kiln_log_set_level(KILN_LOG_ERROR);
    kiln_notice("KILN_THIS is wrong");
    kiln_notice("KILN_THAT is wrong");
    cr_expect_str_eq(captured_stderr_text(), "kiln: KILN_THAT is wrong\n");
}

Test(notice, a_forked_child_does_not_repeat_it)
{
    kiln_notice("KILN_THIS is wrong");
    pid_t child = fork();
    if (child == 0) {
        kiln_notice("KILN_THIS is wrong");
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_expect_eq(captured_stderr_count("KILN_THIS"), 1);
}

Test(notice, more_of_them_than_there_is_room_for_are_dropped)
{
    for (int i = 0; i < 1000; i++)
        kiln_notice("setting %d is wrong", i);
    cr_expect_eq(captured_stderr_count("is wrong"), 64);
}
