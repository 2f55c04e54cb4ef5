/* Graphs that are taken or declined because of the compilers on this machine. */
#include "runtime/engine/engine.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/runtime/support/captured_stderr.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static enum kiln_status check(const struct kiln_engine_options *options, struct kiln_error *error)
{
    struct kiln_engine *engine = NULL;
    struct kiln_buffer graph;
    kiln_error_init(error);
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);
    (void)setenv("KILN_CACHE_DIR", "", 1);
    cr_assert_eq(kiln_engine_create(options, &engine, error), KILN_OK, "%s", error->text);
    enum kiln_status status = kiln_engine_check(engine, graph.data, graph.size, error);
    kiln_engine_unref(engine);
    kiln_buffer_fini(&graph);
    return status;
}

Test(compile_ability, without_a_worker_means_no)
{
    const struct kiln_engine_options options = {
        .device = "host", .codegen = {.worker_path = "/no/such/kiln-compile"}};
    struct kiln_error error;
    cr_expect_eq(check(&options, &error), KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(error.text, "/no/such/kiln-compile"), "%s", error.text);
}

Test(compile_ability, a_compiler_that_compiles_nothing_means_no)
{
    const struct kiln_engine_options options = {.device = "host"};
    static const char *const programs[] = {"/bin/false", "/bin/true"};
    struct kiln_error error;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        (void)setenv("KILN_HOST_CXX", programs[i], 1);
        cr_expect_eq(check(&options, &error), KILN_COMPILE_FAILED);
        cr_expect_not_null(strstr(error.text, "does not work"), "%s", error.text);
        cr_expect_not_null(strstr(error.text, "hint: set KILN_HOST_CXX"), "%s", error.text);
    }
}

/* A compiler that a variable names is told of once, with logging off. */
Test(compile_ability, a_broken_setting_is_told_of_once)
{
    static const struct {
        char variable[32], value[24], reason[40];
    } broken[] = {
        {"KILN_HOST_CXX", "/bin/false", "does not work"},
        {"KILN_COMPILE_WORKER", "/bin/true", "cannot start '"},
    };
    const struct kiln_engine_options options = {.device = "host"};
    struct kiln_error error;
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        captured_stderr_start();
        (void)setenv(broken[i].variable, broken[i].value, 1);
        for (int j = 0; j < 2; j++)
            cr_expect_eq(check(&options, &error), KILN_COMPILE_FAILED, "%s", error.text);
        (void)unsetenv(broken[i].variable);
        const char *text = captured_stderr_text();
        cr_expect_eq(captured_stderr_count("kiln: graphs are declined"), 1, "%s", text);
        cr_expect_not_null(strstr(text, broken[i].reason), "%s", text);
        cr_expect_not_null(strstr(text, broken[i].variable), "%s", text);
    }
}

/* Few machines have all compilers. The check of settings tells of a path that leads nowhere. */
Test(compile_ability, a_missing_compiler_is_not_told_of)
{
    struct kiln_error error;
    const struct kiln_engine_options options = {.device = "host"};
    captured_stderr_start();
    (void)setenv("KILN_HOST_CXX", "/no/such/c++", 1);
    cr_expect_eq(check(&options, &error), KILN_UNSUPPORTED);
    (void)unsetenv("KILN_HOST_CXX");
    (void)setenv("PATH", "/no/such", 1);
    cr_expect_eq(check(&options, &error), KILN_UNSUPPORTED);
    cr_expect_str_eq(captured_stderr_text(), "");
}

/* A comgr that is there may be too old for the device. */
Test(compile_ability, is_what_the_compilers_say_of_the_target)
{
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx950", "gfx1153"};
    struct stand_in hip = stand_in_open();
    (void)setenv("KILN_CLANG", "/no/such/clang", 1);
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        struct kiln_codegen *codegen = NULL;
        struct kiln_target target;
        struct kiln_error error;
        char name[KILN_COMPILER_NAME_BYTES];
        kiln_error_init(&error);
        cr_assert_eq(kiln_target_parse(targets[i], &target, &error), KILN_OK);
        cr_assert_eq(kiln_codegen_create(NULL, &codegen, &error), KILN_OK);
        enum kiln_status expected = kiln_codegen_compiler(codegen, &target, name, &error);
        kiln_codegen_unref(codegen);
        cr_assert(expected == KILN_OK || expected == KILN_UNSUPPORTED, "%s", error.text);

        hip.set_architecture(targets[i], 1160);
        const struct kiln_engine_options options = {.device = "hip"};
        cr_expect_eq(check(&options, &error), expected, "%s: %s", targets[i], error.text);
    }
}
