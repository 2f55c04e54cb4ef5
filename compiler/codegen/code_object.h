/*
 * Is this code object what the recipe needs? Asked once per compiled kernel, before anything is
 * kept or launched.
 *
 * AMDGPU: ELF of the AMDGPU machine whose e_flags are those of the target (processor, any
 * setting of its features), code object version 4 to 6, the kernel and its descriptor among the
 * dynamic symbols, and metadata (LLVM AMDGPUUsage, "Code Object V3 and above Metadata") that agree
 * with the recipe: target, kernarg segment of exactly 8 bytes per argument and no hidden arguments,
 * LDS, block size, wavefront size, no stack of unknown size. A kernel that keeps something in
 * scratch memory is let through, with `scratch_bytes` to say so: what to do about it is up to the
 * caller. Host: ELF shared object of this machine that defines the kernel as a function. CUDA:
 * cubin.h.
 *
 * The bytes may come from anywhere: damage gives KILN_CORRUPT and never more. A sound object that
 * is not what was asked for gives KILN_COMPILE_FAILED with what differs.
 */
#ifndef KILN_COMPILER_CODEGEN_CODE_OBJECT_H
#define KILN_COMPILER_CODEGEN_CODE_OBJECT_H

#include "compiler/codegen/codegen.h"

enum kiln_status kiln_code_object_check(const void *bytes, size_t size,
                                        const struct kiln_target *target,
                                        const struct kiln_kernel *kernel,
                                        struct kiln_kernel_resources *ret_resources,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
