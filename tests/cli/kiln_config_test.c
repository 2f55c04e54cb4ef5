#include "runtime/support/environment.h"
#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Below /dev/null nothing can be made, whoever runs the test. */
TestSuite(kiln_config, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 60);

static struct kiln_process run(bool json, const char *const *environment)
{
    const char *arguments[] = {"config", json ? "--json" : NULL, NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    kiln.arguments = NULL;
    kiln.environment = NULL;
    return kiln;
}

#define CONFIG_JSON(...) run(true, (const char *const[]){__VA_ARGS__, NULL})

static const json_t *row_of(const json_t *document, const char *list, const char *name)
{
    size_t index;
    const json_t *row;
    json_array_foreach(json_object_get(document, list), index, row)
    {
        if (strcmp(text_member(row, "name"), name) == 0)
            return row;
    }
    cr_assert(false, "no row '%s' in '%s'", name, list);
    return NULL;
}

static void expect(const json_t *document, const char *list, const char *name, const char *value,
                   const char *source)
{
    const json_t *row = row_of(document, list, name);
    cr_assert_str_eq(text_member(row, "value"), value, "value of %s", name);
    cr_assert_str_eq(text_member(row, "source"), source, "source of %s", name);
    cr_assert(json_is_null(json_object_get(row, "problem")), "problem of %s", name);
}

Test(kiln_config, lists_every_setting)
{
    struct kiln_process kiln = CONFIG_JSON("KILN_DEVICE=host");
    cr_assert_eq(kiln.exit_code, 0, "%s%s", kiln.out, kiln.err);
    json_t *document = parse_json(kiln.out);
    cr_assert_eq(json_array_size(json_object_get(document, "settings")), KILN_ENVIRONMENT_COUNT);
    for (unsigned i = 0; i < KILN_ENVIRONMENT_COUNT; i++)
        row_of(document, "settings", kiln_environment_info(i)->name);
    expect(document, "settings", "KILN_DEVICE", "host", "environment");
    expect(document, "settings", "KILN_COMPILE_TIMEOUT", "60", "default");
    expect(document, "derived", "cache limit", "1.0 GiB", "default");
    cr_assert_eq(
        strncmp(text_member(row_of(document, "derived", "device"), "value"), "host, host", 10), 0);
    cr_assert_not_null(strstr(text_member(row_of(document, "derived", "compile worker"), "value"),
                              "kiln-compile"));
    json_decref(document);
}

Test(kiln_config, an_empty_setting_counts_as_unset)
{
    struct kiln_process kiln =
        CONFIG_JSON("KILN_COMPILE_TIMEOUT=", "KILN_DEVICE=", "KILN_CACHE_REMOTE=");
    json_t *document = parse_json(kiln.out);
    expect(document, "settings", "KILN_COMPILE_TIMEOUT", "60", "default");
    expect(document, "settings", "KILN_CACHE_REMOTE", "none", "default");
    json_decref(document);
}

Test(kiln_config, says_which_variable_named_the_cache_directory)
{
    char directory[1024];
    char pair[1100];
    struct kiln_process kiln;
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("place"));
    (void)snprintf(pair, sizeof pair, "KILN_CACHE_DIR=%s", directory);
    kiln = CONFIG_JSON(pair);
    json_t *document = parse_json(kiln.out);
    expect(document, "derived", "cache directory", directory, "KILN_CACHE_DIR");
    expect(document, "settings", "KILN_CACHE_DIR", directory, "environment");
    json_decref(document);
    cr_assert_neq(access(directory, F_OK), 0, "looking makes no directory");
    kiln = CONFIG_JSON("KILN_CACHE_DIR=");
    document = parse_json(kiln.out);
    expect(document, "settings", "KILN_CACHE_DIR", "", "environment");
    expect(document, "derived", "cache directory", "none: memory only", "KILN_CACHE_DIR");
    json_decref(document);
}

/* The variables after KILN_CACHE_DIR, which every run of kiln_process sets: through env -u. */
static json_t *config_by(const char *assignments)
{
    char command[4096];
    (void)snprintf(command, sizeof command,
                   "env -u KILN_CACHE_DIR -u HIPDNN_CACHE_DIR -u XDG_CACHE_HOME -u HOME "
                   "KILN_DEVICE=host %s '%s' config --json",
                   assignments, KILN_BINARY);
    static char text[1 << 16];
    FILE *output = popen(command, "r");
    cr_assert(output);
    text[fread(text, 1, sizeof text - 1, output)] = '\0';
    (void)pclose(output);
    return parse_json(text);
}

Test(kiln_config, follows_the_rule_of_the_cache_directory)
{
    static const struct {
        const char *assignments;
        const char *directory;
        const char *source;
    } cases[] = {
        {"HIPDNN_CACHE_DIR=/dev/null/h XDG_CACHE_HOME=/dev/null/x HOME=/dev/null",
         "/dev/null/h/kiln", "HIPDNN_CACHE_DIR"},
        {"HIPDNN_CACHE_DIR= XDG_CACHE_HOME=/dev/null/x HOME=/dev/null", "/dev/null/x/kiln",
         "XDG_CACHE_HOME"},
        {"XDG_CACHE_HOME=relative HOME=/dev/null", "/dev/null/.cache/kiln", "HOME"},
        {"HIPDNN_DISABLE_CACHE=0 HIPDNN_CACHE_DIR=/dev/null/h", "/dev/null/h/kiln",
         "HIPDNN_CACHE_DIR"},
        {"HIPDNN_DISABLE_CACHE=enabled KILN_CACHE_DIR=/dev/null/k HIPDNN_CACHE_DIR=/dev/null/h",
         "none: memory only", "HIPDNN_DISABLE_CACHE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *document = config_by(cases[i].assignments);
        expect(document, "derived", "cache directory", cases[i].directory, cases[i].source);
        json_decref(document);
    }
    static const char *const none[] = {"", "XDG_CACHE_HOME=x HOME=relative"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        json_t *document = config_by(none[i]);
        const json_t *row = row_of(document, "derived", "cache directory");
        cr_assert_str_eq(text_member(row, "source"), "no variable");
        cr_assert(strstr(text_member(row, "problem"), "KILN_CACHE_DIR"));
        json_decref(document);
    }
}

Test(kiln_config, bad_values_have_their_sentences)
{
    char link[1100];
    cr_assert_eq(symlink("/tmp", temporary_path("link")), 0);
    (void)snprintf(link, sizeof link, "KILN_CACHE_DIR=%s", temporary_path("link"));
    static const struct {
        const char *name;
        const char *value;
        const char *sentence;
    } cases[] = {
        {"KILN_COMPILE_WORKERS", "257", "not a number from 1 to 256"},
        {"KILN_COMPILE_TIMEOUT", "soon", "not a number from 1 to"},
        {"KILN_COMPILE_MEMORY", "-1", "not a number from 0 to"},
        {"KILN_HOST_THREADS", "0", "not a number from 1 to"},
        {"KILN_CACHE_MAX_SIZE", "12Q", "not a number of bytes"},
        {"KILN_CACHE_LAYERS", "/dev/null/layer", "'/dev/null/layer'"},
        {"KILN_CACHE_REMOTE", "http://me:secret@host", "no cache is shared"},
        {"KILN_HOST_SANITIZE", "maybe", "counts as off"},
        {"KILN_COMPILE_IN_PROCESS", "2", "counts as off"},
        {"KILN_ENFORCE_PRECOMPILED", "ture", "counts as off"},
        {"KILN_STATS", "2", "counts as off"},
        {"KILN_ROCTX", "y", "counts as off"},
        {"KILN_LOG_LEVEL", "loud", "no log level"},
        {"KILN_DUMP_DIR", "/dev/null/dump", "cannot write to '/dev/null/dump'"},
        {"KILN_CAPTURE_DIR", "/dev/null", "Not a directory"},
        {"KILN_HOST_CXX", "/dev/null/c++", "there is no '/dev/null/c++' here"},
        {"KILN_CLANG", "/dev/null/clang", "no clang"},
        {"KILN_COMGR_LIBRARY", "/dev/null/comgr.so", "'/dev/null/comgr.so'"},
        {"KILN_NVRTC_LIBRARY", "/dev/null/nvrtc.so", "'/dev/null/nvrtc.so'"},
        {"KILN_HIP_LIBRARY", "/dev/null/hip.so", "'/dev/null/hip.so'"},
        {"KILN_CUDA_LIBRARY", "/dev/null/cuda.so", "'/dev/null/cuda.so'"},
        {"KILN_DEVICE", "abacus", "device 'abacus' is not known"},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    char pairs[CASES][64];
    const char *environment[CASES + 2];
    for (size_t i = 0; i < CASES; i++) {
        (void)snprintf(pairs[i], sizeof pairs[i], "%s=%s", cases[i].name, cases[i].value);
        environment[i] = pairs[i];
    }
    environment[CASES] = link;
    environment[CASES + 1] = NULL;
    struct kiln_process kiln = run(true, environment);
    cr_assert_eq(kiln.exit_code, 1);
    json_t *document = parse_json(kiln.out);
    for (size_t i = 0; i < CASES; i++) {
        const json_t *row = row_of(document, "settings", cases[i].name);
        cr_assert(strstr(text_member(row, "problem"), cases[i].sentence), "%s: %s", cases[i].name,
                  text_member(row, "problem"));
        cr_assert_str_eq(text_member(row, "source"), "environment");
    }
    const json_t *directory = row_of(document, "derived", "cache directory");
    cr_assert(strstr(text_member(directory, "problem"), "symbolic link"));
    expect(document, "derived", "cache limit", "1.0 GiB", "default");
    json_decref(document);
    /* The same below the tables. */
    kiln = run(false, environment);
    cr_assert_eq(kiln.exit_code, 1);
    for (size_t i = 0; i < CASES; i++)
        cr_assert(strstr(kiln.out, cases[i].sentence), "%s", kiln.out);
}

/* hipDNN's variable is a setting only where it has a problem. */
Test(kiln_config, a_problem_of_another_variable_has_its_own_row)
{
    struct kiln_process kiln = CONFIG_JSON("HIPDNN_DISABLE_CACHE=maybe", "KILN_DEVICE=host");
    cr_assert_eq(kiln.exit_code, 1);
    json_t *document = parse_json(kiln.out);
    const json_t *row = row_of(document, "settings", "HIPDNN_DISABLE_CACHE");
    cr_expect_str_eq(text_member(row, "value"), "maybe");
    cr_expect(strstr(text_member(row, "problem"), "counts as off"));
    expect(document, "settings", "KILN_CACHE_LAYERS", "none", "default");
    json_decref(document);
}

Test(kiln_config, a_good_value_is_no_problem)
{
    char capture[1100]; /* made when the first graph is captured */
    (void)snprintf(capture, sizeof capture, "KILN_CAPTURE_DIR=%s", temporary_path("yet"));
    struct kiln_process kiln = CONFIG_JSON(
        "KILN_COMPILE_WORKERS=256", "KILN_COMPILE_MEMORY=0", "KILN_CACHE_MAX_SIZE=10GiB",
        "KILN_HOST_SANITIZE=No", "KILN_LOG_LEVEL=WARN", "KILN_DEVICE=host", "KILN_HOST_THREADS=1",
        "KILN_COMPILE_IN_PROCESS=on", capture);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.out);
    json_t *document = parse_json(kiln.out);
    expect(document, "derived", "cache limit", "10.0 GiB", "KILN_CACHE_MAX_SIZE");
    expect(document, "derived", "compile worker", "none: in this process",
           "KILN_COMPILE_IN_PROCESS");
    json_decref(document);
}

Test(kiln_config, a_directory_that_others_may_write_to_has_a_hint)
{
    char pair[1100];
    cr_assert_eq(mkdir(temporary_path("open"), 0700), 0);
    cr_assert_eq(chmod(temporary_path("open"), 0770), 0);
    (void)snprintf(pair, sizeof pair, "KILN_CACHE_DIR=%s", temporary_path("open"));
    struct kiln_process kiln = CONFIG_JSON(pair);
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "\\nhint: chmod go-w '"), "%s", kiln.out);
}

Test(kiln_config, secrets_are_not_shown)
{
    static const char *const urls[] = {"redis://me:secret@127.0.0.1:1/2",
                                       "redis://:secret@127.0.0.1", "http://me:secret@host",
                                       "redis://me:secret@[::1]:99999999", "me:secret"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char pair[128];
        (void)snprintf(pair, sizeof pair, "KILN_CACHE_REMOTE=%s", urls[i]);
        const char *const environment[] = {pair, NULL};
        for (int json = 0; json < 2; json++) {
            struct kiln_process kiln = run(json, environment);
            cr_assert_null(strstr(kiln.out, "secret"), "%s", kiln.out);
            cr_assert_null(strstr(kiln.err, "secret"), "%s", kiln.err);
            cr_assert(strstr(kiln.out, "***"), "%s", kiln.out);
        }
    }
}

Test(kiln_config, layers_are_listed_in_their_order)
{
    char pair[2200];
    cr_assert_eq(mkdir(temporary_path("one"), 0700), 0);
    cr_assert_eq(mkdir(temporary_path("two"), 0700), 0);
    (void)snprintf(pair, sizeof pair, "KILN_CACHE_LAYERS=%s:/dev/null:", temporary_path("two"));
    strcat(pair, temporary_path("one"));
    struct kiln_process kiln = CONFIG_JSON(pair, "KILN_DEVICE=host");
    cr_assert_eq(kiln.exit_code, 1, "one of them is missing");
    const char *two = strstr(kiln.out, "\"cache layer\"");
    cr_assert(two, "%s", kiln.out);
    const char *one = strstr(two + 1, "\"cache layer\"");
    cr_assert(one, "%s", kiln.out);
    cr_assert(strstr(two, "/two\"") < one && strstr(one, "/one\""), "%s", kiln.out);
}
