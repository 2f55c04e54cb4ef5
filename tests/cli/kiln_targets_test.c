#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"

#include <criterion/criterion.h>
#include <string.h>

static const json_t *named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(text_member(json_array_get(list, i), "name"), name) == 0)
            return json_array_get(list, i);
    cr_assert(false, "'%s' is not listed", name);
    return NULL;
}

Test(kiln_targets, every_target_is_listed)
{
    static const char *const names[] = {
#define KILN_TARGET(name, ...) #name,
#include "compiler/codegen/targets.def"
    };
    struct kiln_process table = KILN("targets");
    struct kiln_process kiln = KILN("targets", "--json");
    cr_assert_eq(table.exit_code, 0);
    cr_assert_eq(kiln.exit_code, 0);
    json_t *document = parse_json(kiln.out);
    const json_t *targets = json_object_get(document, "targets");
    cr_assert_eq(json_array_size(targets), sizeof(names) / sizeof(*names));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const json_t *target = named(targets, names[i]);
        cr_assert(json_is_string(json_object_get(target, "compiler")) !=
                  json_is_string(json_object_get(target, "message")));
        cr_assert(strstr(table.out, names[i]));
    }
    cr_expect_str_eq(text_member(named(targets, "gfx942"), "features"), "sramecc, xnack");
    cr_expect_str_eq(text_member(named(targets, "gfx1030"), "features"), "");
    json_decref(document);
}

Test(kiln_targets, the_host_runs_and_a_missing_gpu_has_a_reason)
{
    static const char *const environment[] = {"KILN_HIP_LIBRARY=/no/such/library.so", NULL};
    static const char *const arguments[] = {"targets", "--json", NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *devices = json_object_get(document, "devices");
    cr_assert_eq(strncmp(text_member(named(devices, "host"), "target"), "host", 4), 0);
    cr_assert(*text_member(named(devices, "hip"), "message"));
    json_decref(document);
}
