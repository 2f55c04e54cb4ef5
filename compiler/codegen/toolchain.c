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

/* Why a compiler is not here, after what was said before; nothing when it is. */
static void append_absence(const struct kiln_compiler_ops *ops, struct kiln_buffer *absences)
{
    struct kiln_compiler compiler = {.ops = ops};
    struct kiln_error reason;
    kiln_error_init(&reason);
    if (ops->find(&compiler, &reason) == KILN_OK)
        kiln_compiler_fini(&compiler);
    else
        kiln_buffer_printf(absences, "%s%s", absences->size != 0 ? "; " : ": ", reason.text);
}

enum kiln_status kiln_toolchain_unsupported(const struct kiln_target *target,
                                            struct kiln_error *error)
{
    struct kiln_buffer absences, hints;
    kiln_buffer_init(&absences);
    kiln_buffer_init(&hints);
    for (size_t i = 0; i < kiln_compiler_count(); i++) {
        const struct kiln_compiler_ops *ops = kiln_compiler_at(i);
        if (ops->kind != target->kind)
            continue;
        append_absence(ops, &absences);
        kiln_buffer_printf(&hints, "%s%s", hints.size != 0 ? "; or " : "", ops->hint);
    }
    (void)kiln_error_set(error, KILN_UNSUPPORTED, "no compiler here serves target '%s'%s",
                         target->name, kiln_buffer_text(&absences));
    if (hints.size != 0)
        kiln_error_hint(error, "%s", kiln_buffer_text(&hints));
    kiln_buffer_fini(&absences);
    kiln_buffer_fini(&hints);
    return KILN_UNSUPPORTED;
}
