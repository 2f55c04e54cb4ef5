#include "compiler/codegen/toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum kiln_status add_identities(struct kiln_toolchain *toolchain, struct kiln_error *error)
{
    for (size_t kind = 0; kind < KILN_TARGET_KINDS; kind++) {
        struct kiln_buffer identity;
        kiln_buffer_init(&identity);
        for (size_t i = 0; i < toolchain->count; i++) {
            if ((size_t)toolchain->compilers[i].ops->kind == kind)
                kiln_buffer_printf(&identity, "%s%s", identity.size != 0 ? "; " : "",
                                   toolchain->compilers[i].identity);
        }
        enum kiln_status status = kiln_buffer_check(&identity, error);
        toolchain->identities[kind] = identity.data; /* takes the memory */
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

enum kiln_status kiln_toolchain_find(struct kiln_toolchain *ret_toolchain, struct kiln_error *error)
{
    struct kiln_toolchain toolchain = {.count = 0};
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; i < kiln_compiler_count() && status == KILN_OK; i++) {
        struct kiln_compiler *compiler = &toolchain.compilers[toolchain.count];
        compiler->ops = kiln_compiler_at(i);
        status = compiler->ops->find(compiler, error);
        if (status == KILN_OK)
            toolchain.count++;
        else if (status == KILN_NOT_FOUND)
            status = KILN_OK;
    }
    if (status == KILN_OK)
        status = add_identities(&toolchain, error);
    if (status != KILN_OK) {
        kiln_toolchain_fini(&toolchain);
        return status;
    }
    *ret_toolchain = toolchain;
    return KILN_OK;
}

void kiln_toolchain_fini(struct kiln_toolchain *toolchain)
{
    for (size_t i = 0; i < toolchain->count; i++)
        kiln_compiler_fini(&toolchain->compilers[i]);
    for (size_t kind = 0; kind < KILN_TARGET_KINDS; kind++)
        free(toolchain->identities[kind]);
    *toolchain = (struct kiln_toolchain){.count = 0};
}

enum kiln_status kiln_toolchain_unsupported(const struct kiln_target *target,
                                            struct kiln_error *error)
{
    (void)kiln_error_set(error, KILN_UNSUPPORTED, "no compiler here serves target '%s'",
                         target->name);
    char hints[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < kiln_compiler_count(); i++) {
        const struct kiln_compiler_ops *ops = kiln_compiler_at(i);
        if (ops->kind != target->kind || used >= sizeof hints)
            continue;
        int length = snprintf(hints + used, sizeof hints - used, "%s%s", used != 0 ? "; or " : "",
                              ops->hint);
        used += length > 0 ? (size_t)length : 0;
    }
    if (used != 0)
        kiln_error_hint(error, "%s", hints);
    return KILN_UNSUPPORTED;
}
