#include "runtime/support/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

TestSuite(error);

Test(error, set_stores_and_returns_the_status)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(error.status, KILN_OK);
    cr_assert_str_eq(error.text, "");
    error.reject_reason = 7;
    cr_assert_eq(kiln_error_set(&error, KILN_IO, "cannot read '%s'", "x"), KILN_IO);
    cr_assert_eq(error.status, KILN_IO);
    cr_assert_eq(error.reject_reason, 0);
    cr_assert_str_eq(error.text, "cannot read 'x'");
}

Test(error, hint_and_prefix)
{
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_error_set(&error, KILN_IO, "cannot read 'x'");
    kiln_error_hint(&error, "try '%s'", "y");
    kiln_error_prefix(&error, "graph '%s'", "g");
    cr_assert_str_eq(error.text, "graph 'g': cannot read 'x'\nhint: try 'y'");
    cr_assert_eq(error.status, KILN_IO);
}

Test(error, long_sentences_are_cut_and_stay_terminated)
{
    static char longer[2 * KILN_ERROR_TEXT_BYTES];
    memset(longer, 'a', sizeof longer - 1);
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_error_set(&error, KILN_IO, "%s", longer);
    cr_assert_eq(strlen(error.text), KILN_ERROR_TEXT_BYTES - 1);
    kiln_error_hint(&error, "no room");
    cr_assert_eq(strlen(error.text), KILN_ERROR_TEXT_BYTES - 1);
    cr_assert_null(strchr(error.text, '\n'), "a hint that does not fit leaves no piece of itself");
    kiln_error_prefix(&error, "%s", longer);
    cr_assert_eq(strlen(error.text), KILN_ERROR_TEXT_BYTES - 1);
    cr_assert_not_null(strstr(error.text, "a: a"));
}

Test(error, hint_around_the_last_free_byte)
{
    for (size_t room = 0; room < 16; room++) {
        struct kiln_error error;
        kiln_error_init(&error);
        memset(error.text, 'a', sizeof error.text);
        error.text[KILN_ERROR_TEXT_BYTES - 1 - room] = '\0';
        kiln_error_hint(&error, "h");
        cr_assert_lt(strlen(error.text), KILN_ERROR_TEXT_BYTES);
        bool has_hint = strstr(error.text, "\nhint: h") != NULL;
        cr_assert_eq(has_hint, room >= strlen("\nhint: h"), "%zu bytes free", room);
        cr_assert_eq(strchr(error.text, '\n') != NULL, has_hint, "%zu bytes free", room);
    }
}

Test(error, every_status_has_a_name)
{
    cr_assert_str_eq(kiln_status_name(KILN_OK), "KILN_OK");
    cr_assert_str_eq(kiln_status_name(KILN_CORRUPT), "KILN_CORRUPT");
    cr_assert_str_eq(kiln_status_name(KILN_INTERNAL), "KILN_INTERNAL");
    cr_assert_str_eq(kiln_status_name((enum kiln_status)999), "KILN_UNKNOWN");
}

Test(error, shortages_are_told_from_lasting_failures)
{
    static const int passing[] = {EMFILE, ENFILE, EAGAIN, ENOMEM, EINTR};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        cr_expect(kiln_status_may_pass(kiln_status_of_errno(passing[i])), "%d", passing[i]);
    static const int lasting[] = {ENOENT, EACCES, EIO, ENOTDIR};
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        cr_expect_not(kiln_status_may_pass(kiln_status_of_errno(lasting[i])), "%d", lasting[i]);
    cr_expect_eq(kiln_status_of_errno(ENOENT), KILN_NOT_FOUND);
}
