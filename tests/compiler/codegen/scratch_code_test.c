#include "compiler/codegen/scratch_code.h"

#include <criterion/criterion.h>

/* Encodings as llvm-mc 19 prints them (--show-encoding). */
struct sample {
    const char *target;
    const char *text;
    uint32_t words[4];
    bool touches;
};

static const struct sample samples[] = {
    {"gfx90a", "buffer_store_dword v1, off, s[0:3], 0 offset:4", {0xe0700004, 0x80000100}, true},
    {"gfx90a", "buffer_store_dwordx4 v[0:3], off, s[0:3], 0", {0xe07c0000, 0x80000000}, true},
    {"gfx90a", "buffer_load_dword v1, off, s[0:3], 0 offset:4", {0xe0500004, 0x80000100}, false},
    {"gfx90a", "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", {0xe05c1000, 0x80000004}, false},
    {"gfx942", "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", {0xe05c1000, 0x80000004}, false},
    {"gfx90a", "flat_load_dword v1, v[2:3]", {0xdc500000, 0x01000002}, true},
    {"gfx90a", "global_load_dwordx4 v[220:223], v[2:3], off", {0xdc5c8000, 0xdc7f0002}, false},
    {"gfx90a", "global_load_dwordx4 v[224:227], v0, s[64:65]", {0xdc5c8000, 0xe0400000}, false},
    {"gfx90a", "v_mov_b32_e32 v1, 0xe0700004", {0x7e0202ff, 0xe0700004}, false},
    {"gfx90a", "s_add_u32 s0, s1, 0xe0700004", {0x8000ff01, 0xe0700004}, false},
    {"gfx90a", "buffer_wbinvl1_vol", {0xe0fc0000}, false},
    {"gfx90a", "buffer_wbl2", {0xe0a00000}, false},
    {"gfx942", "buffer_inv sc0 sc1", {0xe0a4c000}, false},
    {"gfx942", "scratch_store_dwordx2 off, v[32:33], off offset:8", {0xdc744008, 0x007f2000}, true},
    {"gfx942", "scratch_load_dword v1, off, off", {0xdc504000, 0x017f0000}, true},
    {"gfx1030", "buffer_store_dword v1, off, s[0:3], 0 offset:4", {0xe0700004, 0x80000100}, true},
    {"gfx1030", "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", {0xe0381000, 0x80000004}, false},
    {"gfx1030", "buffer_gl0_inv", {0xe1c40000}, false},
    {"gfx1030", "buffer_gl1_inv", {0xe1c80000}, false},
    {"gfx1030", "global_load_dwordx4 v[220:223], v[2:3], off", {0xdc388000, 0xdc7d0002}, false},
    {"gfx1100", "scratch_store_b32 off, v1, off offset:4", {0xdc690004, 0x007c0100}, true},
    {"gfx1100", "buffer_load_b128 v[0:3], v4, s[0:3], 0 offen", {0xe05c0000, 0x80400004}, false},
    {"gfx1100", "buffer_gl0_inv", {0xe0ac0000}, false},
    {"gfx1100", "buffer_gl1_inv", {0xe0b00000}, false},
    {"gfx1100", "flat_load_b32 v1, v[2:3]", {0xdc500000, 0x017c0002}, true},
    {"gfx1100", "global_load_b128 v[220:223], v[2:3], off", {0xdc5e0000, 0xdc7c0002}, false},
    {"gfx1201",
     "scratch_store_b32 off, v1, off offset:4",
     {0xed06807c, 0x00800000, 0x00000400},
     true},
    {"gfx1201",
     "global_load_b128 v[4:7], v[2:3], off",
     {0xee05c07c, 0x00000004, 0x00000002},
     false},
    {"gfx1201",
     "buffer_load_b128 v[0:3], v4, s[0:3], null offen",
     {0xc405c07c, 0x40800000, 0x00000004},
     false},
    {"gfx1201", "v_mov_b32_e32 v1, 0xc47a0000", {0x7e0202ff, 0xc47a0000}, false},
};

static struct kiln_target target_of(const char *name)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(name, &target, &error), KILN_OK, "%s", error.text);
    return target;
}

Test(scratch_code, is_told_by_the_instructions)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct kiln_target target = target_of(samples[i].target);
        cr_expect_eq(
            kiln_code_may_touch_scratch(&target, samples[i].words, sizeof samples[i].words),
            samples[i].touches, "%s: %s", samples[i].target, samples[i].text);
    }
}

Test(scratch_code, a_cut_instruction_is_not_read)
{
    struct kiln_target target = target_of("gfx90a");
    static const unsigned char code[] = {0x04, 0x00, 0x70};
    cr_expect_not(kiln_code_may_touch_scratch(&target, code, sizeof code));
    cr_expect_not(kiln_code_may_touch_scratch(&target, code, 0));
}

Test(scratch_code, every_processor_of_the_table_is_known)
{
    static const uint32_t s_endpgm = 0xbf810000;
    for (size_t i = 0; i < kiln_target_count(); i++) {
        struct kiln_target target;
        kiln_target_at(i, &target);
        if (target.kind == KILN_TARGET_AMDGPU)
            cr_expect_not(kiln_code_may_touch_scratch(&target, &s_endpgm, sizeof s_endpgm), "%s",
                          target.name);
    }
}
