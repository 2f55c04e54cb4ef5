/*
 * libamd_comgr, opened once per process and never closed: LLVM does not survive that.
 */
#ifndef KILN_COMPILER_CODEGEN_COMGR_LIBRARY_H
#define KILN_COMPILER_CODEGEN_COMGR_LIBRARY_H

#include "compiler/codegen/comgr_api.h"
#include "runtime/support/error.h"

struct kiln_comgr_library {
#define KILN_COMGR_FUNCTION(name, result, parameters) result(*name) parameters;
    KILN_COMGR_FUNCTIONS(KILN_COMGR_FUNCTION)
#undef KILN_COMGR_FUNCTION
    size_t major;
    size_t minor;
    /* What differs between the major versions. */
    unsigned language_hip;
    unsigned action_codegen;
    unsigned action_link;
};

/*
 * Opens the library at `path`. `identity` is what kiln_binary_append_identity said of the file:
 * every build id of the libraries that are now mapped has to be in it, else what compiles is not
 * what the cache key names, and the answer is KILN_COMPILE_FAILED. A process opens one comgr:
 * another path is KILN_UNSUPPORTED.
 */
enum kiln_status kiln_comgr_library_open(const char *path, const char *identity,
                                         const struct kiln_comgr_library **ret_library,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
