/*
 * CUBINs: code objects for NVIDIA GPUs. Is one what the recipe needs?
 *
 * An ELF executable of machine EM_CUDA that defines the kernel as a global function in its static
 * symbol table. What it says about the kernel stands as attributes in the sections ".nv.info" and
 * ".nv.info.<kernel>". NVIDIA does not document them; their names and numbers are those that its
 * cuobjdump prints (EIATTR_REGCOUNT and so on) and have been the same since CUDA 8. So what an
 * attribute says is compared with the recipe, and one that is missing or has another shape counts
 * as not known. Whether the code is for the processor is left to the driver, which refuses to load
 * what is not.
 */
#ifndef KILN_COMPILER_CODEGEN_CUBIN_H
#define KILN_COMPILER_CODEGEN_CUBIN_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/elf_file.h"

/*
 * KILN_COMPILE_FAILED with what differs: machine, symbol, bytes of arguments, local memory, block
 * size. A kernel that spills is let through, with `scratch_bytes` to say so: code for the CUDA
 * device is for measuring, not the product, and the device warns of it.
 */
enum kiln_status kiln_cubin_check(const struct kiln_elf *elf, const struct kiln_target *target,
                                  const struct kiln_kernel *kernel,
                                  struct kiln_kernel_resources *ret_resources,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
