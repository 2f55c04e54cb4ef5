/* KILN_COMPILE_MEMORY, with the real compilers. */
#include "compiler/codegen/codegen.h"

#include "sample_kernel.h"
#include "worker_directory.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* The real compilers, in less memory than they need, and then a job that fits. */
static void expect_out_of_memory(const char *target_name)
{
    worker_directory_make();
    cr_assert_eq(setenv("KILN_COMPILE_MEMORY", "600", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target(target_name);
    sample_require(codegen, &target);
    char *source =
        sample_doubling_source("extern const int big[]; const int big[] = {", "1,", 25, "};");
    struct kiln_error error;
    enum kiln_status status = sample_compile(codegen, target_name, source, &error);
    cr_expect_eq(status, KILN_COMPILE_FAILED, "%d", status);
    cr_expect(strstr(error.text, "the compiler ran out of memory") != NULL, "%s", error.text);
    cr_expect_eq(sample_compile(codegen, target_name, NULL, &error), KILN_OK, "%s", error.text);
    kiln_codegen_unref(codegen);
    worker_directory_remove();
    free(source);
}

Test(compile_memory, memory_limit_holds_for_comgr)
{
    expect_out_of_memory("gfx90a");
}

Test(compile_memory, memory_limit_holds_for_programs)
{
    expect_out_of_memory("host");
}

/* Too little for comgr to be mapped: not a reason to let clang compile under the same key. */
Test(compile_memory, memory_limit_does_not_choose_the_compiler)
{
    worker_directory_make();
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target("gfx90a");
    char name[KILN_COMPILER_NAME_BYTES];
    struct kiln_error error;
    kiln_error_init(&error);
    bool serves = kiln_codegen_compiler(codegen, &target, name, &error) == KILN_OK &&
                  strcmp(name, "comgr") == 0;
    kiln_codegen_unref(codegen);
    if (!serves) {
        worker_directory_remove();
        cr_skip_test("comgr does not serve here");
    }
    cr_assert_eq(setenv("KILN_COMPILE_MEMORY", "300", 1), 0);
    codegen = sample_codegen(REAL_WORKER, 60);
    cr_expect_eq(sample_compile(codegen, "gfx90a", NULL, &error), KILN_NO_MEMORY, "%s", error.text);
    cr_expect(strstr(error.text, "cannot open comgr") != NULL, "%s", error.text);
    cr_expect(strstr(error.text, "hint: KILN_COMPILE_MEMORY") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
    worker_directory_remove();
}

Test(compile_memory, a_memory_limit_may_be_too_low_for_anything)
{
    worker_directory_make();
    cr_assert_eq(setenv("KILN_COMPILE_MEMORY", "100", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "KILN_COMPILE_MEMORY leaves 100 MiB") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
    worker_directory_remove();
}
