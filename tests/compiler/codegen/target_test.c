#include "compiler/codegen/product.h"
#include "compiler/codegen/target.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static struct kiln_target parse(const char *text)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(text, &target, &error), KILN_OK, "%s: %s", text, error.text);
    return target;
}

static void expect_refused(const char *text, const char *sentence)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    memset(&target, 0x5a, sizeof target);
    struct kiln_target before = target;
    cr_assert_eq(kiln_target_parse(text, &target, &error), KILN_BAD_ARGUMENT, "%s", text);
    cr_expect(strstr(error.text, sentence) != NULL, "'%s' gave: %s", text, error.text);
    cr_expect_eq(memcmp(&target, &before, sizeof target), 0, "output touched");
}

Test(target, plain_processor)
{
    struct kiln_target target = parse("gfx1100");
    cr_expect_str_eq(target.name, "gfx1100");
    cr_expect_str_eq(target.processor, "gfx1100");
    cr_expect_eq(target.kind, KILN_TARGET_AMDGPU);
    cr_expect_eq(target.wave_size, 32);
    cr_expect_eq(target.elf_machine, 0x41);
    cr_expect_eq(target.lds_bytes, 65536);
    cr_expect_eq(parse("gfx90a").wave_size, 64);
}

Test(target, a_name_with_features_means_the_processor)
{
    static const char *const settings[] = {
        ":sramecc+:xnack-", ":sramecc-:xnack-", ":xnack+:sramecc+", ":xnack-", ":sramecc+", ""};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "gfx942%s", settings[i]);
        struct kiln_target plain = parse("gfx942");
        struct kiln_target target = parse(name);
        cr_expect_eq(memcmp(&target, &plain, sizeof target), 0, "%s", name);
    }
    cr_expect_str_eq(parse("gfx1010:xnack-").name, "gfx1010");
}

Test(target, features_that_devices_report)
{
    static const char *const cases[][2] = {
        {"gfx900", "xnack"},
        {"gfx906", "sramecc, xnack"},
        {"gfx908", "sramecc, xnack"},
        {"gfx90c", "xnack"},
        {"gfx90a", "sramecc, xnack"},
        {"gfx942", "sramecc, xnack"},
        {"gfx1010", "xnack"},
        {"gfx950", "sramecc, xnack"},
        {"gfx1013", "xnack"},
        {"gfx1030", ""},
        {"gfx1201", ""},
        {"gfx1250", "sramecc, xnack"},
        {"sm_90", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_target target = parse(cases[i][0]);
        cr_expect_str_eq(kiln_target_features(&target), cases[i][1], "%s", cases[i][0]);
    }
}

Test(target, elf_flags)
{
    /* The values that LLVM's readelf shows for objects of these targets. */
    struct {
        const char *name;
        uint32_t flags;
    } cases[] = {
        {"gfx900", 0x12c},  {"gfx90a", 0x53f},  {"gfx90a:sramecc+:xnack-", 0x53f},
        {"gfx942", 0x54c},  {"gfx1010", 0x133}, {"gfx1030", 0x36},
        {"gfx1201", 0x4e},  {"gfx950", 0x54f},  {"gfx1250", 0x549},
        {"gfx1251", 0x55a}, {"host", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_target target = parse(cases[i].name);
        cr_expect_eq(kiln_target_elf_flags(&target), cases[i].flags, "%s: 0x%x", cases[i].name,
                     kiln_target_elf_flags(&target));
    }
}

Test(target, host_has_a_level)
{
    struct kiln_target host = parse("host");
    cr_expect_eq(host.kind, KILN_TARGET_HOST);
    cr_expect_str_eq(host.processor, "host");
    cr_expect_eq(strncmp(host.name, "host:", 5), 0);
    cr_expect_gt(strlen(host.name), 5);
    cr_expect_str_eq(parse(host.name).name, host.name);
#if defined(__x86_64__)
    cr_expect_str_eq(parse("host:x86-64-v2").name, "host:x86-64-v2");
    expect_refused("host:x86-64-v9", "unknown level 'x86-64-v9'");
#endif
    expect_refused("host:", "unknown level");
    expect_refused("host:x86 -o /etc/passwd", "unknown level");
}

Test(target, products_are_known_by_the_names_on_their_boxes)
{
    static const char *const names[][2] = {
        {"MI300X", "gfx942"},
        {"mi210", "gfx90a"},
        {"AMD Instinct MI355X", "gfx950"},
        {"RX 7900 XTX", "gfx1100"},
        {"rx7900xtx", "gfx1100"},
        {"Radeon RX-7900 XTX", "gfx1100"},
        {"7900 XTX", "gfx1100"},
        {"Radeon PRO W7900", "gfx1100"},
        {"AMD Radeon AI PRO R9700", "gfx1201"},
        {"Radeon VII", "gfx906"},
        {"GFX90A", "gfx90a"},
        {"MI250X:xnack-", "gfx90a"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_str_eq(parse(names[i][0]).name, names[i][1], "%s", names[i][0]);
    expect_refused("MI300", "'MI300A' or 'MI300X'");
    expect_refused("RX 7900 XTZ", "'RX 7900 XT' or 'RX 7900 XTX'");
    expect_refused("RX", "or others?");
    expect_refused("Radeon", "'Radeon VII'");
}

Test(target, every_product_belongs_to_a_target)
{
    static const char *const processors[] = {
#define KILN_PRODUCTS(processor, names) #processor,
#include "compiler/codegen/products.def"
    };
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++) {
        cr_expect_str_eq(parse(processors[i]).processor, processors[i]);
        char names[512];
        (void)snprintf(names, sizeof names, "%s", kiln_product_names(processors[i]));
        for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ","))
            cr_expect_str_eq(parse(name).processor, processors[i], "%s has two", name);
    }
}

Test(target, unknown_ones_are_refused)
{
    expect_refused("gfx90b", "did you mean");
    expect_refused("gfx90b", "'gfx90a' or 'gfx90c'?");
    expect_refused("gfx1210", "gfx1201");
    expect_refused("navi31", "\nhint: 'kiln targets' lists them");
    expect_refused("sm_91", "did you mean 'sm_90'? 'kiln targets' lists all");
    expect_refused("sm_90:xnack+", "no features");
    expect_refused("", "unknown target ''");
    expect_refused("gfx90a:", "no feature ''");
    expect_refused("gfx90a:xnack", "no feature 'xnack'");
    expect_refused("gfx90a:xnack*", "no feature 'xnack*'");
    expect_refused("gfx90a:wavefrontsize64+", "it takes sramecc+");
    expect_refused("gfx900:sramecc+", "no feature 'sramecc+'");
    expect_refused("gfx1100:xnack+", "no features");
    expect_refused("gfx90a:xnack+:xnack-", "given twice");
    char text[5000];
    memset(text, 'g', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    expect_refused(text, "unknown target 'gggg");
}

Test(target, every_row_reads_back)
{
    cr_assert_gt(kiln_target_count(), 20);
    for (size_t i = 0; i < kiln_target_count(); i++) {
        struct kiln_target row;
        kiln_target_at(i, &row);
        struct kiln_target target = parse(row.name);
        cr_expect_eq(memcmp(&row, &target, sizeof row), 0, "%s", row.name);
        cr_expect(row.bandwidth_gbs > 0 && row.vector_gflops > 0, "%s", row.name);
        cr_expect(row.matrix_gflops == 0 || row.matrix_gflops > row.vector_gflops, "%s", row.name);
        for (size_t k = 0; k < i; k++) {
            struct kiln_target other;
            kiln_target_at(k, &other);
            cr_expect(strcmp(other.name, row.name) != 0, "%s twice", row.name);
            cr_expect(row.kind != KILN_TARGET_AMDGPU || other.elf_machine != row.elf_machine,
                      "%s and %s have one machine number", row.name, other.name);
        }
    }
}
