#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(kiln_doctor, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 120);

static struct kiln_process run(const char *const *arguments, const char *const *environment)
{
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    return kiln;
}

static const char *const json_arguments[] = {"doctor", "--json", NULL};

/* The state of a finding; "" when there is none. */
static const char *state_of(const json_t *document, const char *group, const char *name)
{
    size_t index;
    const json_t *check;
    json_array_foreach(json_object_get(document, "checks"), index, check)
    {
        if (strcmp(text_member(check, "group"), group) == 0 &&
            strcmp(text_member(check, "name"), name) == 0)
            return text_member(check, "state");
    }
    return "";
}

Test(kiln_doctor, the_host_device_works)
{
    const char *environment[] = {"KILN_DEVICE=host", "KILN_CACHE_REMOTE=", NULL};
    struct kiln_process kiln = run(json_arguments, environment);
    cr_assert_eq(kiln.exit_code, 0, "%s%s", kiln.out, kiln.err);
    cr_expect_str_eq(kiln.err, "");
    cr_expect_eq(strncmp(kiln.out, "{\n  \"schema_version\": 1,", 24), 0, "%.40s", kiln.out);
    json_t *document = parse_json(kiln.out);
    static const char *const good[][2] = {
        {"settings", "settings"}, {"plugin", "plugin"},    {"plugin", "engine"},
        {"device", "device"},     {"cache", "directory"},  {"cache", "file system"},
        {"compilers", "worker"},  {"compilers", "target"}, {"test", "kernel"},
        {"test", "plugin"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(strcmp(state_of(document, good[i][0], good[i][1]), "ok") == 0 ||
                      strcmp(good[i][1], "file system") == 0,
                  "%s, %s: %s", good[i][0], good[i][1], kiln.out);
    cr_expect_eq(integer_member(json_object_get(document, "summary"), "wrong"), 0);
    json_decref(document);
}

static void expect_narrow(const char *text)
{
    int columns = 0;
    for (; *text; text++) {
        columns = *text == '\n' ? 0 : columns + (((unsigned char)*text & 0xc0) != 0x80);
        cr_expect_leq(columns, 100, "%s", text - 99);
    }
}

/* A machine on which everything is wrong: no line breaks the report. */
Test(kiln_doctor, what_is_wrong_has_a_remedy)
{
    static const char *const arguments[] = {"doctor", NULL};
    static const char *const environment[] = {"KILN_HIP_LIBRARY=/no/such/library.so",
                                              "KILN_DEVICE=hip",
                                              "KILN_COMPILE_WORKER=/no/worker",
                                              "KILN_CACHE_DIR=/dev/null/cache",
                                              "KILN_CACHE_LAYERS=/no/layer",
                                              "KILN_CACHE_REMOTE=nonsense \x1b[31m",
                                              "KILN_COMPILE_TIMEOUT=soon",
                                              "KILN_CACHE_LAYER=/typo",
                                              "HIPDNN_PLUGIN_DIR=/no/plugins",
                                              "HIPDNN_HEUR_FALLBACK_ENGINE_ORDER=MIOPEN",
                                              NULL};
    struct kiln_process kiln = run(arguments, environment);
    cr_assert_eq(kiln.exit_code, 1, "%s%s", kiln.out, kiln.err);
    static const char *const parts[] = {
        "'KILN_COMPILE_TIMEOUT' is 'soon'",
        "KILN_CACHE_LAYER is not a variable of Kiln",
        "add KILN_FUSION_ENGINE to it",
        "wrong    location",
        "wrong    device",
        "wrong    directory",
        "wrong    layer",
        "wrong    shared tier",
        "wrong    worker",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(kiln.out, parts[i]), "'%s' is not in: %s", parts[i], kiln.out);
    cr_expect_null(strchr(kiln.out, '\x1b'), "no colours in a file, and none of others");
    expect_narrow(kiln.out);
}

/* The stand-in launches nothing, so the result cannot be right. */
Test(kiln_doctor, a_wrong_result_is_seen)
{
    static const char *const environment[] = {"KILN_HIP_LIBRARY=" KILN_STAND_IN_LIBRARY,
                                              "KILN_DEVICE=", NULL};
    struct kiln_process kiln = run(json_arguments, environment);
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.out);
    json_t *document = parse_json(kiln.out);
    cr_expect_str_eq(state_of(document, "device", "device"), "ok");
    cr_expect_str_eq(state_of(document, "device", "runtime"), "ok");
    const char *target = state_of(document, "compilers", "target");
    const char *kernel = state_of(document, "test", "kernel");
    cr_expect_str_eq(kernel, strcmp(target, "ok") == 0 ? "wrong" : "skipped");
    json_decref(document);
}

Test(kiln_doctor, a_terminal_gets_colours)
{
    static const char *const arguments[] = {"doctor", "--device", "host", NULL};
    static const char *const environment[] = {"KILN_CACHE_REMOTE=", NULL};
    struct kiln_process kiln = {
        .arguments = arguments, .environment = environment, .terminal = true};
    kiln_process_run(&kiln);
    cr_expect(strstr(kiln.out, "\x1b[32mok"), "%s", kiln.out);
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.out);
}

Test(kiln_doctor, an_unknown_device_is_a_usage_error)
{
    struct kiln_process kiln = KILN("doctor", "--device", "abacus");
    cr_expect_eq(kiln.exit_code, 2);
    cr_expect(strstr(kiln.err, "'abacus'"), "%s", kiln.err);
    cr_expect_eq(KILN("doctor", "me").exit_code, 2);
}

/* As while an image is built: no GPU, and nothing may be compiled. */
Test(kiln_doctor, an_image_with_precompiled_kernels_is_fine)
{
    static const char *const environment[] = {"KILN_ENFORCE_PRECOMPILED=1",
                                              "KILN_CACHE_REMOTE=", "KILN_DEVICE=", NULL};
    struct kiln_process kiln = run(json_arguments, environment);
    json_t *document = parse_json(kiln.out);
    cr_expect_str_eq(state_of(document, "compilers", "worker"), "skipped");
    cr_expect_str_eq(state_of(document, "test", "kernel"), "skipped");
    if (strcmp(state_of(document, "device", "device"), "warning") == 0)
        cr_expect_eq(kiln.exit_code, 0, "%s", kiln.out);
    json_decref(document);
}
