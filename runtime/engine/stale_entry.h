/*
 * Cache entries that this build of Kiln can never use: of other template files, generators, formats
 * or compile options than its own. For `kiln cache`.
 */
#ifndef KILN_RUNTIME_ENGINE_STALE_ENTRY_H
#define KILN_RUNTIME_ENGINE_STALE_ENTRY_H

#include "cache/entry_format.h"
#include "runtime/support/error.h"

/*
 * `ret_reason`: why this build never uses the entry, static; NULL when it may. A program is used
 * with the digest of this build only, a kernel with a source that the template files of this build
 * give. A kernel of an older generator with the same template files cannot be told from one that
 * some graph has: it stays. KILN_NO_MEMORY.
 */
enum kiln_status kiln_entry_judge_stale(const struct kiln_entry_view *view, const char **ret_reason,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
