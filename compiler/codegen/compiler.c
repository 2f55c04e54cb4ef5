#include "compiler/codegen/compiler.h"

#include "compiler/codegen/compiler_search.h"

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

char *kiln_compiler_search(char *(*search)(const char *name),
                           enum kiln_environment_variable configured, const char *const *names,
                           const char *what, struct kiln_error *error)
{
    const char *name = kiln_environment_text(configured);
    bool is_configured = name != NULL && *name != '\0';
    char *path = is_configured ? search(name) : NULL;
    for (; *names != NULL && path == NULL && !is_configured; names++)
        path = search(*names);
    if (path == NULL && is_configured)
        (void)kiln_compiler_absent(error, "there is no '%s' here", name);
    else if (path == NULL)
        (void)kiln_compiler_absent(error, "there is no %s here", what);
    return path;
}

enum kiln_status kiln_compiler_adopt(struct kiln_compiler *ret_compiler, char *path,
                                     const char *linker, const char *start,
                                     struct kiln_error *error)
{
    struct kiln_buffer identity;
    kiln_buffer_init(&identity);
    kiln_buffer_append_text(&identity, start);
    enum kiln_status status = KILN_OK;
    if (!kiln_binary_append_identity(path, &identity))
        status = kiln_compiler_absent(error, "cannot read '%s'", path);
    else if (linker != NULL && !kiln_binary_append_identity(linker, &identity))
        status = kiln_compiler_absent(error, "cannot read '%s'", linker);
    if (status == KILN_OK)
        status = kiln_buffer_check(&identity, error);
    if (status != KILN_OK) {
        free(path);
        kiln_buffer_fini(&identity);
        return status;
    }
    ret_compiler->path = path;
    ret_compiler->identity = identity.data; /* takes the memory */
    return KILN_OK;
}

void kiln_compiler_fini(struct kiln_compiler *compiler)
{
    free(compiler->path);
    free(compiler->identity);
    *compiler = (struct kiln_compiler){0};
}
