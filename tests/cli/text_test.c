#include "cli/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

Test(text, escapes_what_moves_the_cursor_and_what_is_not_utf8)
{
    static const struct {
        const char *text;
        const char *escaped;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "gr\xc3\xb6\xc3\x9f"
         "e"},
        {"\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5"},
        {"\033[31mred", "\\x1b[31mred"},
        {"a\nb\tc", "a\\x0ab\\x09c"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"},                   /* CSI as a C1 control */
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"},          /* right-to-left override */
        {"\xff\xfe", "\\xff\\xfe"},                   /* never in UTF-8 */
        {"\xc0\xaf", "\\xc0\\xaf"},                   /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
        {"cut\xe2\x82", "cut\\xe2\\x82"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *escaped = kiln_text_escape(cases[i].text);
        cr_assert_str_eq(escaped, cases[i].escaped, "case %zu", i);
        free(escaped);
    }
}

Test(text, columns_are_code_points)
{
    cr_assert_eq(kiln_text_columns("gr\xc3\xb6\xc3\x9f"
                                   "e"),
                 5);
    cr_assert_eq(kiln_text_columns(""), 0);
}

Test(text, amounts_in_units_people_read)
{
    char buffer[KILN_TEXT_AMOUNT_BYTES];
    cr_assert_str_eq(kiln_text_bytes(buffer, 0), "0 B");
    cr_assert_str_eq(kiln_text_bytes(buffer, 1023), "1023 B");
    cr_assert_str_eq(kiln_text_bytes(buffer, 1024), "1.0 KiB");
    cr_assert_str_eq(kiln_text_bytes(buffer, 1048575), "1.0 MiB", "not 1024.0 KiB");
    cr_assert_str_eq(kiln_text_bytes(buffer, UINT64_MAX), "16.0 EiB");
    cr_assert_str_eq(kiln_text_duration(buffer, 1500), "1.5 us");
    cr_assert_str_eq(kiln_text_duration(buffer, 2500000), "2.5 ms");
    cr_assert_str_eq(kiln_text_duration(buffer, 3100000000u), "3.1 s");
}

Test(text, json_takes_any_bytes)
{
    json_t *text = kiln_json_text("a\xff"
                                  "b\033");
    cr_assert_str_eq(json_string_value(text), "a\xef\xbf\xbd"
                                              "b\033");
    json_decref(text);
}

Test(text, json_has_no_infinity)
{
    json_t *array = kiln_json_array();
    kiln_json_append(array, kiln_json_real(1.5));
    kiln_json_append(array, kiln_json_real(INFINITY));
    kiln_json_append(array, kiln_json_real(-INFINITY));
    kiln_json_append(array, kiln_json_real(NAN));
    char *dump = json_dumps(array, JSON_COMPACT);
    cr_assert_str_eq(dump, "[1.5,\"inf\",\"-inf\",\"nan\"]");
    free(dump);
    json_decref(array);
}

Test(text, hints_are_split_off)
{
    char none[] = "all is well: hint: no";
    char one[] = "no disk\nhint: buy one";
    char two[] = "no disk\nhint: buy one\nhint: rent one";
    cr_expect_null(kiln_text_split_hints(none));
    cr_expect_str_eq(kiln_text_split_hints(one), "buy one");
    cr_expect_str_eq(one, "no disk");
    cr_expect_str_eq(kiln_text_split_hints(two), "buy one\nrent one");
    cr_expect_str_eq(two, "no disk");
}
