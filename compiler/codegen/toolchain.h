/*
 * The compilers that are here, and what identifies them: found on disk once, then immutable.
 */
#ifndef KILN_COMPILER_CODEGEN_TOOLCHAIN_H
#define KILN_COMPILER_CODEGEN_TOOLCHAIN_H

#include "compiler/codegen/compiler.h"

enum { KILN_TARGET_KINDS = KILN_TARGET_CUDA + 1 };

struct kiln_toolchain {
    struct kiln_compiler compilers[KILN_COMPILER_LIMIT]; /* in order of preference */
    size_t count;
    char *identities[KILN_TARGET_KINDS]; /* all candidates of a kind; NULL: none */
};

/* Looks for every compiler of compilers.def; those that are not here are left out. Fails when
 * memory is out. */
enum kiln_status kiln_toolchain_find(struct kiln_toolchain *ret_toolchain,
                                     struct kiln_error *error) KILN_NODISCARD;
void kiln_toolchain_fini(struct kiln_toolchain *toolchain);

/* KILN_UNSUPPORTED: no compiler here serves the target; with a hint for each that would. */
enum kiln_status kiln_toolchain_unsupported(const struct kiln_target *target,
                                            struct kiln_error *error);

#endif
