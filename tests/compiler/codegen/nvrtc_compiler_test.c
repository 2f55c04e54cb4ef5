/*
 * CUDA targets: compiled by NVRTC, where it is, and checked. Nothing here needs a GPU.
 */
#include "compiler/codegen/code_object.h"
#include "compiler/codegen/isa_text.h"

#include "sample_kernel.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kiln_error error;

static void set_up(void)
{
    kiln_error_init(&error);
}

TestSuite(nvrtc, .init = set_up);

struct fixture {
    struct kiln_codegen *codegen;
    struct kiln_target target;
    struct kiln_kernel kernel;
    struct kiln_code_object object;
};

/* Skips the test where nothing compiles for the target. */
static struct fixture compile(const char *target)
{
    struct fixture fixture = {.codegen = sample_codegen(NULL, 60), .target = sample_target(target)};
    sample_require(fixture.codegen, &fixture.target);
    fixture.kernel = sample_kernel(&fixture.target);
    cr_assert_eq(kiln_codegen_compile(fixture.codegen, &fixture.target, &fixture.kernel,
                                      &fixture.object, &error),
                 KILN_OK, "%s", error.text);
    return fixture;
}

static void drop(struct fixture *fixture)
{
    kiln_code_object_fini(&fixture->object);
    kiln_codegen_unref(fixture->codegen);
}

static void expect_compiles(const char *target)
{
    struct fixture fixture = compile(target);
    const struct kiln_kernel_resources *resources = &fixture.object.resources;
    cr_expect_eq(resources->kernarg_bytes, 24);
    cr_expect_eq(resources->scratch_bytes, 0);
    cr_expect_eq(resources->lds_bytes, 0);
    cr_expect_eq(resources->wave_size, 32);
    cr_expect_gt(resources->vgprs, 0);
    cr_expect_lt(resources->vgprs, 64);

    struct fixture other = compile(target);
    cr_expect_eq(other.object.size, fixture.object.size);
    cr_expect_eq(memcmp(other.object.bytes, fixture.object.bytes, other.object.size), 0,
                 "depends on the process");
    drop(&other);
    drop(&fixture);
}

Test(nvrtc, compiles_for_sm_75)
{
    expect_compiles("sm_75");
}

Test(nvrtc, compiles_for_sm_90)
{
    expect_compiles("sm_90");
}

Test(nvrtc, compiles_for_sm_120)
{
    expect_compiles("sm_120");
}

Test(nvrtc, identity_is_found_without_loading_anything)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("sm_90");
    const char *identity;
    sample_require(codegen, &target);
    cr_assert_eq(kiln_codegen_identity(codegen, &target, &identity, &error), KILN_OK, "%s",
                 error.text);
    cr_expect_eq(strncmp(identity, "nvrtc options-", 14), 0, "%s", identity);
    cr_expect_null(strchr(identity, '/'), "a path in %s", identity);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL)
        cr_expect_null(strstr(line, "libnvrtc"), "%s", line);
    (void)fclose(maps);
    kiln_codegen_unref(codegen);
}

Test(nvrtc, what_is_missing_is_told)
{
    cr_assert_eq(setenv("KILN_NVRTC_LIBRARY", "/nonexistent", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("sm_90");
    const char *identity;
    cr_expect_eq(kiln_codegen_identity(codegen, &target, &identity, &error), KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "no compiler here serves target 'sm_90'") != NULL, "%s",
              error.text);
    cr_expect(strstr(error.text, "set KILN_NVRTC_LIBRARY") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
}

/* A library that is something else is no crash and no wrong object. */
Test(nvrtc, another_library_is_refused)
{
    cr_assert_eq(setenv("KILN_NVRTC_LIBRARY", "libm.so.6", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("sm_90");
    struct kiln_kernel kernel = sample_kernel(&target);
    struct kiln_code_object object;
    cr_expect_eq(kiln_codegen_compile(codegen, &target, &kernel, &object, &error),
                 KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "has no function 'nvrtc") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
}

static void expect_refused(const struct fixture *fixture, const struct kiln_target *target,
                           const struct kiln_kernel *kernel, const char *sentence)
{
    struct kiln_kernel_resources resources;
    kiln_error_init(&error);
    cr_expect_eq(kiln_code_object_check(fixture->object.bytes, fixture->object.size, target, kernel,
                                        &resources, &error),
                 KILN_COMPILE_FAILED, "%s", sentence);
    cr_expect(strstr(error.text, sentence) != NULL, "'%s' expected: %s", sentence, error.text);
}

Test(nvrtc, what_differs_is_told)
{
    struct fixture fixture = compile("sm_90");
    struct kiln_target target = sample_target("gfx1030");
    expect_refused(&fixture, &target, &fixture.kernel, "no linked AMDGPU object");
    struct kiln_kernel kernel = fixture.kernel;
    kernel.symbol = "other";
    expect_refused(&fixture, &fixture.target, &kernel, "does not define kernel 'other'");
    kernel = fixture.kernel;
    kernel.argument_count = 4;
    expect_refused(&fixture, &fixture.target, &kernel, "24 bytes of arguments instead of 32");
    kernel = fixture.kernel;
    kernel.block[1] = 2;
    expect_refused(&fixture, &fixture.target, &kernel, "work-groups of 256 instead of 512");
    drop(&fixture);
}

/* Compiles a kernel with the parameters of the sample; skips the test without a compiler. */
static enum kiln_status compile_text(const char *text, uint32_t lds_bytes,
                                     struct kiln_code_object *ret_object)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("sm_90");
    sample_require(codegen, &target);
    struct kiln_kernel kernel = sample_kernel_with(text);
    kernel.lds_bytes = lds_bytes;
    enum kiln_status status = kiln_codegen_compile(codegen, &target, &kernel, ret_object, &error);
    kiln_codegen_unref(codegen);
    return status;
}

Test(nvrtc, unannounced_local_memory_is_refused)
{
    static const char source[] =
        "extern \"C\" __global__ void sample(const float *a, float *b, unsigned long n)\n"
        "{\n"
        "    __shared__ float local[1024];\n"
        "    for (unsigned i = threadIdx.x; i < 1024; i += 256) local[i] = a[i];\n"
        "    __syncthreads();\n"
        "    b[threadIdx.x] = local[n - threadIdx.x];\n"
        "}\n";
    struct kiln_code_object object;
    cr_expect_eq(compile_text(source, 0, &object), KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "takes 4096 bytes of local memory instead of 0") != NULL, "%s",
              error.text);
    kiln_error_init(&error);
    cr_assert_eq(compile_text(source, 4096, &object), KILN_OK, "%s", error.text);
    cr_expect_eq(object.resources.lds_bytes, 4096);
    kiln_code_object_fini(&object);
}

Test(nvrtc, memory_of_a_work_item_is_told_and_let_through)
{
    struct kiln_code_object object;
    cr_assert_eq(compile_text("extern \"C\" __global__ void sample(const int *a, float *b, "
                              "unsigned long n)\n"
                              "{\n"
                              "    float x[64];\n"
                              "    for (int i = 0; i < 64; i++) x[i] = b[i * n];\n"
                              "    float sum = 0;\n"
                              "    for (unsigned i = 0; i < n; i++) sum += x[a[i] & 63];\n"
                              "    *b = sum;\n"
                              "}\n",
                              0, &object),
                 KILN_OK, "%s", error.text);
    cr_expect_eq(object.resources.scratch_bytes, 256);
    kiln_code_object_fini(&object);
}

Test(nvrtc, errors_quote_the_line)
{
    char directory[] = "/tmp/kiln-test-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("KILN_DUMP_DIR", directory, 1), 0);
    struct kiln_code_object object;
    cr_expect_eq(compile_text("extern \"C\" __global__ void sample(const float *a, float *b, "
                              "unsigned long n)\n"
                              "{\n"
                              "    b[0] = oops;\n"
                              "}\n",
                              0, &object),
                 KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "compiler 'nvrtc' refused kernel 'sample' for 'sm_90': identifier "
                                 "\"oops\" is undefined, in line 3: 'b[0] = oops;'") != NULL,
              "%s", error.text);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    cr_expect_eq(system(command), 0);
}

/* nvdisasm is seldom there: whether it is started with what it needs is seen with a stand-in. */
Test(nvrtc, disassembles_by_nvdisasm)
{
    char directory[] = "/tmp/kiln-test-XXXXXX";
    char path[64];
    char command[64];
    cr_assert_not_null(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/nvdisasm", directory);
    FILE *script = fopen(path, "w");
    (void)fputs("#!/bin/sh\necho \"$1\"\ncase $(/usr/bin/head -c 4 \"$2\") in *ELF) echo an ELF "
                "file;; esac\n",
                script);
    cr_assert_eq(fclose(script), 0);
    cr_assert_eq(chmod(path, 0700), 0);

    struct kiln_buffer text;
    kiln_buffer_init(&text);
    cr_assert_eq(setenv("PATH", "/nonexistent", 1), 0);
    struct fixture fixture = compile("sm_90");
    cr_expect_eq(kiln_code_object_disassemble(fixture.codegen, &fixture.target, "sample",
                                              fixture.object.bytes, fixture.object.size, &text,
                                              &error),
                 KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "there is no 'nvdisasm'") != NULL, "%s", error.text);
    drop(&fixture);

    cr_assert_eq(setenv("PATH", directory, 1), 0);
    fixture = compile("sm_90");
    cr_expect_eq(kiln_code_object_disassemble(fixture.codegen, &fixture.target, "sample",
                                              fixture.object.bytes, fixture.object.size, &text,
                                              &error),
                 KILN_OK, "%s", error.text);
    cr_expect_str_eq(kiln_buffer_text(&text), "--print-code\nan ELF file\n");
    kiln_buffer_fini(&text);
    drop(&fixture);
    cr_assert_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    cr_expect_eq(system(command), 0);
}

Test(nvrtc, every_truncation_is_refused)
{
    struct fixture fixture = compile("sm_90");
    for (size_t size = 0; size < fixture.object.size; size++) {
        struct kiln_kernel_resources resources;
        /* A copy of that size: reading behind it is found by a sanitizer. */
        unsigned char *copy = malloc(size + 1);
        memcpy(copy, fixture.object.bytes, size);
        cr_expect_neq(kiln_code_object_check(copy, size, &fixture.target, &fixture.kernel,
                                             &resources, &error),
                      KILN_OK, "cut to %zu", size);
        free(copy);
    }
    drop(&fixture);
}

Test(nvrtc, random_damage_is_survived)
{
    enum { ROUNDS = 100000 };
    struct fixture fixture = compile("sm_90");
    unsigned char *bytes = malloc(fixture.object.size);
    memcpy(bytes, fixture.object.bytes, fixture.object.size);
    uint32_t state = 4711;
    unsigned refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t at[3];
        for (int i = 0; i < 3; i++) {
            state = state * 1664525 + 1013904223;
            at[i] = (state >> 4) % fixture.object.size;
            state = state * 1664525 + 1013904223;
            bytes[at[i]] ^= (unsigned char)(1U << (state >> 29));
        }
        struct kiln_kernel_resources resources;
        refused += kiln_code_object_check(bytes, fixture.object.size, &fixture.target,
                                          &fixture.kernel, &resources, &error) != KILN_OK;
        for (int i = 0; i < 3; i++)
            bytes[at[i]] = fixture.object.bytes[at[i]];
    }
    cr_expect_gt(refused, ROUNDS / 100, "only %u refused", refused);
    free(bytes);
    drop(&fixture);
}
