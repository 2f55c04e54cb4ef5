/*
 * Which file is written when a path names it, for files that appear by a rename (file.h,
 * temporary_file.h): a rename puts an ordinary file in the place of whatever is there, a device
 * that everybody uses among it.
 */
#ifndef KILN_RUNTIME_SUPPORT_FILE_TARGET_H
#define KILN_RUNTIME_SUPPORT_FILE_TARGET_H

#include "runtime/support/error.h"

#include <stdbool.h>

/*
 * The path to rename to; the caller frees it. With `follow`, for a name that the user chose, it is
 * what symbolic links at `path` name in the end, which need not exist; without, links are left to
 * be replaced, as they must be where others may have put them. KILN_IO when there is something
 * that is no ordinary file, or when that cannot be found out; KILN_NO_MEMORY.
 */
enum kiln_status kiln_file_target(const char *path, bool follow, char **ret_path,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
