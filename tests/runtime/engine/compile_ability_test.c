/* Whether a graph is taken, with the compilers of this machine. */
#include "runtime/engine/engine.h"
#include "tests/runtime/engine/sample_graph.h"
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
