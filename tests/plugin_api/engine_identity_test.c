#include "plugin_api/engine_identity.h"

#include <criterion/criterion.h>

/* Vectors of the interface reference, section 7.2. */
static const struct {
    const char *name;
    uint64_t id;
} vectors[] = {
    {"ACME_ENGINE", UINT64_C(0x7cb4a73cee0d08a2)},
    {"a", UINT64_C(0xaf63dc4c8601ec8c)},
    {"MIOPEN_ENGINE", UINT64_C(0x15b46865c717a122)},
    {"MIOPEN_ENGINE_DETERMINISTIC", UINT64_C(0xa258541a6daa1de3)},
    {"HIPBLASLT_ENGINE", UINT64_C(0x79aeb17432d4a22b)},
    {"ACME_GEMM_ENGINE", UINT64_C(0xf635d66a9fcd766d)},
    {"EXAMPLE_ENGINE", UINT64_C(0xca1a81aa7d8c67a0)},
};

Test(engine_identity, ids_are_fnv1a_of_names)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        cr_expect_eq((uint64_t)kiln_engine_id_of_name(vectors[i].name), vectors[i].id, "%s",
                     vectors[i].name);
    cr_expect_eq(kiln_engine_id_of_name("ACME_ENGINE"), INT64_C(8985991036644690082));
    cr_expect_eq(kiln_engine_id_of_name("a"), INT64_C(-5808556873153909620));
}

Test(engine_identity, no_name_has_id_zero)
{
    cr_expect_eq(kiln_engine_id_of_name(""), 0);
    cr_expect_eq(kiln_engine_id_of_name(NULL), 0);
}

Test(engine_identity, own_id_never_changes)
{
    cr_expect_eq(kiln_engine_id(), kiln_engine_id_of_name("KILN_FUSION_ENGINE"));
    cr_expect_neq(kiln_engine_id(), 0);
}
