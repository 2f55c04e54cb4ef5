/* Sources of kernels that nobody can compile, in files. */
#include "compiler/codegen/codegen.h"

#include "runtime/support/environment.h"
#include "runtime/support/file.h"
#include "runtime/support/hash.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

void kiln_codegen_dump_source(const struct kiln_kernel *kernel, struct kiln_error *error)
{
    char path[PATH_MAX];
    const char *directory = kiln_environment_text(KILN_ENVIRONMENT_KILN_DUMP_DIR);
    if (directory == NULL || *directory == '\0')
        directory = secure_getenv("TMPDIR");
    if (directory == NULL || *directory == '\0')
        directory = "/tmp";
    char name[48];
    size_t length = 0;
    for (const char *at = kernel->symbol; *at != '\0' && length + 1 < sizeof name; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || *at == '_';
        name[length++] = *at;
        if (!is_plain)
            name[length - 1] = '_';
    }
    name[length] = '\0';
    uint64_t hash = kiln_hash64(kernel->source, kernel->source_bytes);
    int size = snprintf(path, sizeof path, "%s/kiln-%s-%016" PRIx64 ".hip", directory, name, hash);
    if (size < 0 || (size_t)size >= sizeof path)
        return;
    struct kiln_error file_error;
    kiln_error_init(&file_error);
    /* Only we can read it. */
    if (kiln_file_write(path, kernel->source, kernel->source_bytes, KILN_FILE_PRIVATE,
                        &file_error) == KILN_OK)
        kiln_error_hint(error, "the source is in '%s'", path);
    else
        kiln_log(KILN_LOG_WARN, "cannot keep the source of a kernel: %s", file_error.text);
}
