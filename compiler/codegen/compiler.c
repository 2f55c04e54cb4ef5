#include "compiler/codegen/compiler.h"

#include <stdlib.h>
#include <string.h>

#define KILN_COMPILER(name) extern const struct kiln_compiler_ops kiln_compiler_##name;
#include "compiler/codegen/compilers.def"

static const struct kiln_compiler_ops *const compilers[] = {
#define KILN_COMPILER(name) &kiln_compiler_##name,
#include "compiler/codegen/compilers.def"
};

_Static_assert(sizeof compilers / sizeof *compilers <= KILN_COMPILER_LIMIT, "too many compilers");

size_t kiln_compiler_count(void)
{
    return sizeof compilers / sizeof *compilers;
}

const struct kiln_compiler_ops *kiln_compiler_at(size_t index)
{
    return compilers[index];
}

const struct kiln_compiler_ops *kiln_compiler_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (strcmp(compilers[i]->name, name) == 0)
            return compilers[i];
    }
    return NULL;
}

void kiln_compiler_fini(struct kiln_compiler *compiler)
{
    free(compiler->path);
    free(compiler->identity);
    *compiler = (struct kiln_compiler){0};
}
