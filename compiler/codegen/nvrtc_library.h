/*
 * NVRTC, NVIDIA's compiler as a library, opened once per process and never closed.
 */
#ifndef KILN_COMPILER_CODEGEN_NVRTC_LIBRARY_H
#define KILN_COMPILER_CODEGEN_NVRTC_LIBRARY_H

#include "runtime/support/error.h"

#include <stddef.h>

enum { KILN_NVRTC_SUCCESS = 0 };

struct kiln_nvrtc_library {
#define KILN_NVRTC_FUNCTION(name, parameters) int(*name) parameters;
#include "compiler/codegen/nvrtc_functions.def"
    const char *(*nvrtcGetErrorString)(int code);
};

/*
 * Opens the library at `path`. `identity` is what kiln_binary_append_identity said of the file; a
 * file that has changed since gives KILN_COMPILE_FAILED. A process opens one NVRTC: another path is
 * KILN_UNSUPPORTED, and so is a library that lacks a function of nvrtc_functions.def.
 */
enum kiln_status kiln_nvrtc_library_open(const char *path, const char *identity,
                                         const struct kiln_nvrtc_library **ret_library,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
