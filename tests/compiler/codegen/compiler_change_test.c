/* Compilers that are replaced under a running process: what another one makes must not get under
 * the key that names the first. */
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/compiler_search.h"

#include "runtime/support/file.h"
#include "sample_kernel.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[32];
static struct kiln_error error;

static void set_up(void)
{
    (void)strcpy(directory, "/tmp/kiln-test-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("KILN_DUMP_DIR", "/nonexistent", 1), 0);
    kiln_error_init(&error);
}

static void tear_down(void)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    cr_expect_eq(system(command), 0);
}

TestSuite(compiler_change, .init = set_up, .fini = tear_down);

static const char *identity_of(struct kiln_codegen *codegen, const struct kiln_target *target)
{
    const char *identity = NULL;
    cr_assert_eq(kiln_codegen_identity(codegen, target, &identity, &error), KILN_OK, "%s",
                 error.text);
    return identity;
}

static enum kiln_status compile(struct kiln_codegen *codegen, const struct kiln_target *target)
{
    struct kiln_kernel kernel = sample_kernel(target);
    struct kiln_code_object object;
    kiln_error_init(&error);
    enum kiln_status status = kiln_codegen_compile(codegen, target, &kernel, &object, &error);
    if (status == KILN_OK)
        kiln_code_object_fini(&object);
    return status;
}

static void expect_change_told(struct kiln_codegen *codegen, const struct kiln_target *target)
{
    cr_expect_eq(compile(codegen, target), KILN_COMPILE_FAILED);
    cr_expect_not_null(strstr(error.text, "has changed since the compilers were looked for"), "%s",
                       error.text);
}

/* A C++ compiler: the machine's, behind a script that does something first. */
static void write_compiler(const char *first)
{
    char path[64];
    char text[256];
    (void)snprintf(path, sizeof path, "%s/c++", directory);
    int size = snprintf(text, sizeof text, "#!/bin/sh\n%s\nexec c++ \"$@\"\n", first);
    cr_assert_eq(kiln_file_write(path, text, (size_t)size, 0, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(chmod(path, 0700), 0);
    cr_assert_eq(setenv("KILN_HOST_CXX", path, 1), 0);
}

Test(compiler_change, program_replaced_before_it_runs)
{
    struct kiln_target target = sample_target("host");
    write_compiler(":");
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    (void)identity_of(codegen, &target);
    cr_expect_eq(compile(codegen, &target), KILN_OK, "%s", error.text);
    write_compiler(": another one");
    expect_change_told(codegen, &target);
    kiln_codegen_unref(codegen);
}

/* By itself, while it runs: which of the two has made the code cannot be told. */
Test(compiler_change, program_replaced_while_it_runs)
{
    struct kiln_target target = sample_target("host");
    write_compiler("cp $0 $0.new; echo >>$0.new; mv $0.new $0");
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    (void)identity_of(codegen, &target);
    expect_change_told(codegen, &target);
    kiln_codegen_unref(codegen);
}

/* A comgr of our own in the test's directory, and the directory in KILN_COMGR_LIBRARY. */
static char library[64];

static void install_comgr(const char *from)
{
    char command[512];
    (void)snprintf(library, sizeof library, "%s/libamd_comgr.so.2", directory);
    (void)snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'", from, library,
                   library, library);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(setenv("KILN_COMGR_LIBRARY", library, 1), 0);
}

/* Another build: the same file with another build id. */
static void replace_comgr(const char *identity)
{
    unsigned char id[32];
    size_t size = 0;
    const char *hex = strstr(identity, "libamd_comgr.so.2=");
    cr_assert_not_null(hex, "%s", identity);
    hex += sizeof "libamd_comgr.so.2=" - 1;
    for (unsigned byte; size < sizeof id && sscanf(hex + 2 * size, "%2x", &byte) == 1; size++)
        id[size] = (unsigned char)byte;
    struct kiln_buffer content;
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read(library, (size_t)1 << 30, &content, &error), KILN_OK, "%s",
                 error.text);
    unsigned char *found = memmem(content.data, content.size, id, size);
    cr_assert_not_null(found, "comgr has no build id");
    found[0] ^= 1;
    cr_assert_eq(kiln_file_write(library, content.data, content.size, 0, &error), KILN_OK, "%s",
                 error.text);
    kiln_buffer_fini(&content);
}

static struct kiln_target require_comgr(void)
{
    struct kiln_target target = sample_target("gfx90a");
    char *path = kiln_library_find("libamd_comgr.so.2");
    if (path == NULL) {
        tear_down();
        cr_skip_test("there is no comgr 2");
    }
    install_comgr(path);
    free(path);
    return target;
}

Test(compiler_change, comgr_replaced_before_a_worker_loads_it)
{
    struct kiln_target target = require_comgr();
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    replace_comgr(identity_of(codegen, &target));
    /* Not by clang either, which the identity names too: comgr is the one to ask. */
    cr_assert_eq(setenv("KILN_CLANG", "/nonexistent", 1), 0);
    expect_change_told(codegen, &target);
    kiln_codegen_unref(codegen);
    /* The next process finds the new one. */
    codegen = sample_codegen(NULL, 60);
    cr_expect_eq(compile(codegen, &target), KILN_OK, "%s", error.text);
    kiln_codegen_unref(codegen);
}

/* A worker that has the old one goes on with it, rightly. */
Test(compiler_change, comgr_replaced_after_a_worker_has_loaded_it)
{
    struct kiln_target target = require_comgr();
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    const char *identity = identity_of(codegen, &target);
    cr_expect_eq(compile(codegen, &target), KILN_OK, "%s", error.text);
    replace_comgr(identity);
    cr_expect_eq(compile(codegen, &target), KILN_OK, "%s", error.text);
    kiln_codegen_unref(codegen);
}

/* LLVM puts its own signal stack in the place of the sanitizer's, which then unmaps what is not its
 * own. */
#if defined(__SANITIZE_ADDRESS__)
#define LLVM_MAY_RUN_HERE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LLVM_MAY_RUN_HERE 0
#endif
#endif
#ifndef LLVM_MAY_RUN_HERE
#define LLVM_MAY_RUN_HERE 1
#endif

/* The process has the old one mapped, whatever the path stands for by now. */
Test(compiler_change, comgr_replaced_between_engines_of_one_process)
{
    struct kiln_target target = require_comgr();
    if (!LLVM_MAY_RUN_HERE) {
        tear_down();
        cr_skip_test("LLVM does not run in a process with this sanitizer");
    }
    cr_assert_eq(setenv("KILN_COMPILE_IN_PROCESS", "1", 1), 0);
    cr_assert_eq(setenv("KILN_CLANG", "/nonexistent", 1), 0);
    struct kiln_codegen *first = sample_codegen(NULL, 60);
    cr_expect_eq(compile(first, &target), KILN_OK, "%s", error.text);
    replace_comgr(identity_of(first, &target));
    struct kiln_codegen *second = sample_codegen(NULL, 60);
    expect_change_told(second, &target);
    cr_expect_eq(compile(first, &target), KILN_OK, "%s", error.text);
    kiln_codegen_unref(first);
    kiln_codegen_unref(second);
}
