/*
 * Does machine code for an AMD GPU touch private memory (scratch)?
 *
 * The metadata cannot tell. ".private_segment_fixed_size" says what is reserved, and LLVM 19 keeps
 * reserving the slots of scalar registers that it then spills to lanes of vector registers.
 * ".vgpr_spill_count" says nothing of arrays, and counts registers that gfx90a spills to
 * accumulation registers. So the instructions are looked at: private memory is reached by scratch
 * and flat accesses and, on gfx9 without scratch accesses and on gfx10, by buffer accesses. Kernels
 * load operands by buffers too, but store nothing by them, and what is read from private memory was
 * stored there.
 */
#ifndef KILN_COMPILER_CODEGEN_SCRATCH_CODE_H
#define KILN_COMPILER_CODEGEN_SCRATCH_CODE_H

#include "compiler/codegen/target.h"

#include <stdbool.h>

/*
 * True when some instruction among `size` bytes of code may access private memory. Errs on that
 * side: words are compared with encodings without decoding what is between them, and a processor
 * of a generation that is not known always may. An answer is about speed alone: the driver sets up
 * scratch by the kernel descriptor, whatever is said here.
 */
bool kiln_code_may_touch_scratch(const struct kiln_target *target, const void *code, size_t size);

#endif
