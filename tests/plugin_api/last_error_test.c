#include "plugin_api/last_error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(last_error, a_failure_never_reads_as_success)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_neq(kiln_last_error_set(&error), HIPDNN_PLUGIN_STATUS_SUCCESS);
    for (int status = 1; status <= KILN_INTERNAL; status++) {
        (void)kiln_error_set(&error, (enum kiln_status)status, "failure %d", status);
        hipdnnPluginStatus_t told = kiln_last_error_set(&error);
        cr_expect_neq(told, HIPDNN_PLUGIN_STATUS_SUCCESS);
        /* Hosts of Nov 2025 know no others. */
        cr_expect_leq(told, HIPDNN_PLUGIN_STATUS_ALLOC_FAILED);
        cr_expect_eq(strncmp(kiln_last_error(), error.text, strlen(error.text)), 0);
    }
}

Test(last_error, long_texts_are_cut)
{
    char text[2 * HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_expect_eq(kiln_last_error_bad_param("%s", text), HIPDNN_PLUGIN_STATUS_BAD_PARAM);
    cr_expect_eq(strlen(kiln_last_error()), HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH - 1);
}

/* hipDNN's frontend shows no more. */
static const char *seen(const struct kiln_error *error)
{
    static char text[KILN_LAST_ERROR_SEEN + 1];
    cr_expect_neq(kiln_last_error_set(error), HIPDNN_PLUGIN_STATUS_SUCCESS);
    (void)snprintf(text, sizeof text, "%s", kiln_last_error());
    cr_expect_null(strchr(kiln_last_error(), '\n'));
    return text;
}

Test(last_error, what_failed_and_what_to_do_come_first)
{
    static char long_reason[1500];
    memset(long_reason, 'x', sizeof long_reason - 1);
    struct kiln_error error;
    kiln_error_init(&error);
    for (int status = 1; status <= KILN_INTERNAL; status++) {
        const char *advice = kiln_status_advice((enum kiln_status)status);
        cr_expect(*advice != '\0' && strlen(advice) <= 64, "status %d", status);
        for (int is_long = 0; is_long < 2; is_long++) {
            (void)kiln_error_set(&error, (enum kiln_status)status, "cannot do 'this': %s",
                                 is_long ? long_reason : "why");
            cr_expect_not_null(strstr(seen(&error), "cannot do 'this'"), "%s", seen(&error));
            cr_expect_not_null(strstr(seen(&error), advice), "%s", seen(&error));
            kiln_error_hint(&error, "set KILN_THIS to that");
            cr_expect_not_null(strstr(seen(&error), "cannot do 'this'"), "%s", seen(&error));
            cr_expect_not_null(strstr(seen(&error), "set KILN_THIS to that"), "%s", seen(&error));
        }
    }
}

Test(last_error, a_log_between_sentence_and_hint_comes_last)
{
    struct kiln_error error;
    (void)kiln_error_set(&error, KILN_COMPILE_FAILED,
                         "the compiler refused kernel 'k'\nlog:\na\nb");
    kiln_error_hint(&error, "the source is in '/tmp/k.hip'");
    kiln_error_hint(&error, "another");
    cr_expect_neq(kiln_last_error_set(&error), HIPDNN_PLUGIN_STATUS_SUCCESS);
    cr_expect_str_eq(kiln_last_error(),
                     "the compiler refused kernel 'k'; the source is in '/tmp/k.hip'; log:; a; b; "
                     "hint: the source is in '/tmp/k.hip'; hint: another");
}

#define LONG_DIRECTORY                                                                             \
    "/srv/somewhere/with/many/levels/of/directories/that/people/really/have/in/containers/and/"    \
    "on/clusters/where/every/project/has/its/own/tree/of/installations/and/versions/of/them"

/* The whole text follows the shortened one. */
Test(last_error, long_paths_come_last)
{
    static const struct {
        char sentence[512];
        char hint[400];
        char seen[256];
    } cases[] = {
        {"there is no compile worker '" LONG_DIRECTORY "/kiln-compile'",
         "KILN_COMPILE_WORKER names the worker",
         "there is no compile worker '.../and/versions/of/them/kiln-compile'; "
         "KILN_COMPILE_WORKER names the worker; in full: "},
        {"cannot start '" LONG_DIRECTORY "/kiln-compile': no such file",
         "KILN_COMPILE_WORKER names the worker",
         "cannot start '.../and/versions/of/them/kiln-compile': no such file; "
         "KILN_COMPILE_WORKER names the worker; in full: "},
        {"HIP cannot be loaded: " LONG_DIRECTORY "/libhip.so: invalid ELF header", "install HIP",
         "HIP cannot be loaded: .../and/versions/of/them/libhip.so: invalid ELF header; install "
         "HIP; "
         "in full: "},
        {"cannot use the directory '" LONG_DIRECTORY "': other users may write to it",
         "chmod go-w '" LONG_DIRECTORY "'",
         "cannot use the directory '.../installations/and/versions/of/them': other users may write "
         "to it; "
         "chmod go-w '.../installations/and/versions/of/them'; in full: "},
        {"'" LONG_DIRECTORY "/c++' ended with exit code 1, for the host's kernel 'k' of target "
         "'host'",
         "the source is in '" LONG_DIRECTORY "/k.hip'",
         "'.../and/versions/of/them/c++' ended with exit code 1, for the host's "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_error error;
        (void)kiln_error_set(&error, KILN_UNSUPPORTED, "%s", cases[i].sentence);
        kiln_error_hint(&error, "%s", cases[i].hint);
        (void)seen(&error);
        cr_expect_eq(strncmp(kiln_last_error(), cases[i].seen, strlen(cases[i].seen)), 0, "%s",
                     kiln_last_error());
        cr_expect_not_null(strstr(kiln_last_error(), cases[i].sentence));
        cr_expect_not_null(strstr(kiln_last_error(), cases[i].hint));
    }
}

static bool is_utf8(const char *text)
{
    return kiln_utf8_whole(text, strlen(text)) == strlen(text);
}

Test(last_error, texts_are_cut_between_characters)
{
    static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x94\xa5"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t lead = 0; lead < 4; lead++) {
            char text[2 * KILN_ERROR_TEXT_BYTES] = "";
            for (size_t used = 0; used < lead; used++)
                text[used] = 'x';
            while (strlen(text) < sizeof text - 8)
                (void)strcat(text, characters[i]);
            struct kiln_error error;
            kiln_error_init(&error);
            (void)kiln_error_set(&error, KILN_IO, "%s", text);
            cr_expect(is_utf8(error.text));
            (void)kiln_error_set(&error, KILN_IO, "tensor '%.500s' is wrong", text);
            kiln_error_prefix(&error, "%s", text);
            kiln_error_hint(&error, "%s", text);
            cr_expect(is_utf8(error.text));
            (void)seen(&error);
            cr_expect(is_utf8(kiln_last_error()));
            /* The first words end in a whole character too. */
            char *dots = strstr(kiln_last_error(), "...");
            cr_assert_not_null(dots);
            (void)snprintf(text, sizeof text, "%.*s", (int)(dots - kiln_last_error()),
                           kiln_last_error());
            cr_expect(is_utf8(text));
            (void)!kiln_last_error_bad_param("%s%s", error.text, error.text);
            cr_expect(is_utf8(kiln_last_error()));
        }
    }
}

/* Every reason to decline a graph reads well with its advice. */
Test(last_error, reasons_to_decline_fit)
{
    static const char *const texts[] = {
#define KILN_REJECT(name, text) text,
#include "compiler/graph/reject.def"
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct kiln_error error;
        (void)kiln_error_set(&error, KILN_REJECTED,
                             "node 'softmax_1': tensor 'scores' (uid 12): %s", texts[i]);
        cr_expect_not_null(strstr(seen(&error), "use another engine"), "%s", seen(&error));
        cr_expect_not_null(strstr(seen(&error), "node 'softmax_1': tensor 'scores'"));
    }
}
