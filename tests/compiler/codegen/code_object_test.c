#include "compiler/codegen/code_object.h"

#include "sample_kernel.h"

#include <criterion/criterion.h>

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct kiln_codegen *codegen;
    struct kiln_target target;
    struct kiln_kernel kernel;
    struct kiln_code_object object;
};

static struct fixture compile(const char *target)
{
    struct fixture fixture = {.codegen = sample_codegen(NULL, 60), .target = sample_target(target)};
    struct kiln_error error;
    kiln_error_init(&error);
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

static void expect_refused(const struct fixture *fixture, const struct kiln_target *target,
                           const struct kiln_kernel *kernel, const char *sentence)
{
    struct kiln_kernel_resources resources;
    struct kiln_error error;
    kiln_error_init(&error);
    memset(&resources, 0x5a, sizeof resources);
    struct kiln_kernel_resources before = resources;
    enum kiln_status status = kiln_code_object_check(fixture->object.bytes, fixture->object.size,
                                                     target, kernel, &resources, &error);
    cr_expect_eq(status, KILN_COMPILE_FAILED, "%s: status %d", sentence, status);
    cr_expect(strstr(error.text, sentence) != NULL, "'%s' expected: %s", sentence, error.text);
    cr_expect_eq(memcmp(&resources, &before, sizeof resources), 0, "output touched");
}

Test(code_object, what_differs_is_told)
{
    struct fixture fixture = compile("gfx1030");
    struct kiln_target target = sample_target("gfx1031");
    expect_refused(&fixture, &target, &fixture.kernel, "ELF flags 0x36 instead of 0x37");
    target = sample_target("host");
    expect_refused(&fixture, &target, &fixture.kernel, "no shared object of this machine");

    struct kiln_kernel kernel = fixture.kernel;
    kernel.symbol = "other";
    expect_refused(&fixture, &fixture.target, &kernel, "does not define kernel 'other'");
    kernel = fixture.kernel;
    kernel.argument_count = 4;
    expect_refused(&fixture, &fixture.target, &kernel, "24 bytes of arguments instead of 32");
    kernel = fixture.kernel;
    kernel.block[1] = 2;
    expect_refused(&fixture, &fixture.target, &kernel, "work-groups of 256 instead of 512");
    target = fixture.target;
    target.wave_size = 64;
    expect_refused(&fixture, &target, &fixture.kernel, "wavefronts of 32 instead of 64");
    drop(&fixture);
}

/* Bits 8 and 9 of e_flags: xnack. Code that needs it off does not run with xnack on. */
Test(code_object, code_for_one_setting_of_a_feature_is_refused)
{
    enum { FLAGS_OFFSET = 48, XNACK_OFF = 2 };
    struct fixture fixture = compile("gfx90a:xnack-");
    unsigned char *flags = fixture.object.bytes + FLAGS_OFFSET;
    cr_assert_eq(flags[1] & 3, 1, "any setting");
    flags[1] = (unsigned char)((flags[1] & ~3) | XNACK_OFF);
    expect_refused(&fixture, &fixture.target, &fixture.kernel, "ELF flags");
    drop(&fixture);
}

static void compile_and_expect(const char *source, uint32_t lds_bytes, const char *sentence)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("gfx1030");
    struct kiln_kernel kernel = sample_kernel_with(source);
    struct kiln_code_object object;
    struct kiln_error error;
    kiln_error_init(&error);
    sample_require(codegen, &target);
    kernel.lds_bytes = lds_bytes;
    cr_expect_eq(kiln_codegen_compile(codegen, &target, &kernel, &object, &error),
                 KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, sentence) != NULL, "'%s' expected: %s", sentence, error.text);
    kiln_codegen_unref(codegen);
}

static const char *const gpu_targets[] = {"gfx90a",  "gfx942",  "gfx1030", "gfx1100",
                                          "gfx1201", "gfx1250", "gfx950"};

/* An array in private memory. */
Test(code_object, scratch_is_told)
{
    for (size_t i = 0; i < sizeof gpu_targets / sizeof *gpu_targets; i++) {
        struct kiln_codegen *codegen = sample_codegen(NULL, 60);
        struct kiln_target target = sample_target(gpu_targets[i]);
        struct kiln_kernel kernel =
            sample_kernel_with("extern \"C\" __attribute__((global)) "
                               "__attribute__((amdgpu_flat_work_group_size(1, 256)))\n"
                               "void sample(const int *a, float *b, unsigned long n)\n"
                               "{\n"
                               "    volatile float array[64];\n"
                               "    for (int i = 0; i < 64; i++) array[i] = i;\n"
                               "    *b = array[a[n] & 63];\n"
                               "}\n");
        struct kiln_code_object object;
        struct kiln_error error;
        kiln_error_init(&error);
        sample_require(codegen, &target);
        cr_assert_eq(kiln_codegen_compile(codegen, &target, &kernel, &object, &error), KILN_OK,
                     "%s", error.text);
        cr_expect_geq(object.resources.scratch_bytes, 256, "%s", gpu_targets[i]);
        kiln_code_object_fini(&object);
        kiln_codegen_unref(codegen);
    }
}

/* As LLVM 19 does for scalar registers that it spills to lanes of vector registers. */
Test(code_object, scratch_that_no_instruction_touches_is_not_counted)
{
    static const char key[] = ".private_segment_fixed_size";
    for (size_t i = 0; i < sizeof gpu_targets / sizeof *gpu_targets; i++) {
        struct fixture fixture = compile(gpu_targets[i]);
        unsigned char *value =
            memmem(fixture.object.bytes, fixture.object.size, key, sizeof key - 1);
        cr_assert_not_null(value);
        value += sizeof key - 1;
        cr_assert_eq(*value, 0);
        *value = 68; /* msgpack: a small number is its own byte */
        struct kiln_kernel_resources resources;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(kiln_code_object_check(fixture.object.bytes, fixture.object.size,
                                            &fixture.target, &fixture.kernel, &resources, &error),
                     KILN_OK, "%s", error.text);
        cr_expect_eq(resources.scratch_bytes, 0, "%s", gpu_targets[i]);
        drop(&fixture);
    }
}

Test(code_object, unannounced_local_memory_is_refused)
{
    static const char source[] = "extern \"C\" __attribute__((global)) "
                                 "__attribute__((amdgpu_flat_work_group_size(1, 256)))\n"
                                 "void sample(const float *a, float *b, unsigned long n)\n"
                                 "{\n"
                                 "    static __attribute__((shared)) float local[256];\n"
                                 "    unsigned i = __builtin_amdgcn_workitem_id_x();\n"
                                 "    local[i] = a[i];\n"
                                 "    __builtin_amdgcn_s_barrier();\n"
                                 "    b[i] = local[255 - i];\n"
                                 "}\n";
    compile_and_expect(source, 0, "takes 1024 bytes of local memory instead of 0");
    compile_and_expect(source, 512, "takes 1024 bytes of local memory instead of 512");
}

static void expect_truncations_refused(const char *target, size_t step)
{
    struct fixture fixture = compile(target);
    for (size_t size = 0; size < fixture.object.size; size += step) {
        struct kiln_kernel_resources resources;
        struct kiln_error error;
        kiln_error_init(&error);
        /* A copy of that size: reading behind it is found by a sanitizer. */
        unsigned char *copy = malloc(size + 1);
        memcpy(copy, fixture.object.bytes, size);
        cr_expect_neq(kiln_code_object_check(copy, size, &fixture.target, &fixture.kernel,
                                             &resources, &error),
                      KILN_OK, "%s cut to %zu", target, size);
        free(copy);
    }
    drop(&fixture);
}

Test(code_object, every_truncation_is_refused)
{
    expect_truncations_refused("gfx1030", 1);
    expect_truncations_refused("host", 7);
}

Test(code_object, every_truncation_is_refused_of_cuda)
{
    expect_truncations_refused("sm_90", 1);
}

/* The driver is given no size. */
static void expect_refused_beyond_end(const char *target)
{
    struct fixture fixture = compile(target);
    Elf64_Ehdr header;
    memcpy(&header, fixture.object.bytes, sizeof header);
    unsigned changed = 0;
    for (unsigned i = 0; i < header.e_phnum + header.e_shnum; i++) {
        bool is_segment = i < header.e_phnum;
        unsigned char *entry = fixture.object.bytes;
        entry += is_segment ? header.e_phoff + i * sizeof(Elf64_Phdr)
                            : header.e_shoff + (i - header.e_phnum) * sizeof(Elf64_Shdr);
        uint32_t type;
        memcpy(&type, entry + (is_segment ? 0 : offsetof(Elf64_Shdr, sh_type)), sizeof type);
        if (!is_segment && (type == SHT_NULL || type == SHT_NOBITS))
            continue;
        unsigned char *size_field =
            entry + (is_segment ? offsetof(Elf64_Phdr, p_filesz) : offsetof(Elf64_Shdr, sh_size));
        uint64_t old, large = fixture.object.size + 1;
        memcpy(&old, size_field, sizeof old);
        memcpy(size_field, &large, sizeof large);
        struct kiln_kernel_resources resources;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_expect_neq(kiln_code_object_check(fixture.object.bytes, fixture.object.size,
                                             &fixture.target, &fixture.kernel, &resources, &error),
                      KILN_OK, "%s: %s %u", target, is_segment ? "segment" : "section", i);
        memcpy(size_field, &old, sizeof old);
        changed++;
    }
    cr_expect_gt(changed, 4);
    drop(&fixture);
}

Test(code_object, parts_beyond_the_end_are_refused_of_hip)
{
    expect_refused_beyond_end("gfx1030");
}

Test(code_object, parts_beyond_the_end_are_refused_of_cuda)
{
    expect_refused_beyond_end("sm_90");
}

static void expect_damage_survived(const char *target)
{
    enum { ROUNDS = 100000 };
    struct fixture fixture = compile(target);
    unsigned char *bytes = malloc(fixture.object.size);
    memcpy(bytes, fixture.object.bytes, fixture.object.size);
    uint32_t state = 4711;
    unsigned refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t at[3];
        for (int i = 0; i < 3; i++) {
            state = state * 1664525 + 1013904223;
            /* The first kilobyte and a half holds headers, notes and symbols. */
            size_t range = i == 0 && fixture.object.size > 1536 ? 1536 : fixture.object.size;
            at[i] = (state >> 4) % range;
            state = state * 1664525 + 1013904223;
            bytes[at[i]] ^= (unsigned char)(1U << (state >> 29));
        }
        struct kiln_kernel_resources resources;
        struct kiln_error error;
        kiln_error_init(&error);
        refused += kiln_code_object_check(bytes, fixture.object.size, &fixture.target,
                                          &fixture.kernel, &resources, &error) != KILN_OK;
        for (int i = 0; i < 3; i++)
            bytes[at[i]] = fixture.object.bytes[at[i]];
    }
    /* Most of a host object is nothing that is looked at. */
    cr_expect_gt(refused, ROUNDS / 100, "%s: only %u refused", target, refused);
    free(bytes);
    drop(&fixture);
}

Test(code_object, random_damage_is_survived)
{
    expect_damage_survived("gfx90a");
    expect_damage_survived("host");
}

Test(code_object, random_damage_is_survived_of_cuda)
{
    expect_damage_survived("sm_90");
}
