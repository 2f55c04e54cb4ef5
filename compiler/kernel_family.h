/*
 * Families of kernels: the rows of kernel_family.def.
 */
#ifndef KILN_COMPILER_KERNEL_FAMILY_H
#define KILN_COMPILER_KERNEL_FAMILY_H

#include "compiler/ir/ir.h"

enum kiln_kernel_family {
#define KILN_FAMILY(name, lower, op_class, text, reason) KILN_FAMILY_##name,
#include "compiler/kernel_family.def"
    KILN_FAMILY_COUNT
};

/* The family of kernels without core operations. */
#define KILN_FAMILY_FIRST ((enum kiln_kernel_family)0)

/* "reduction", and what kernels of the family do. Static. */
const char *kiln_family_name(enum kiln_kernel_family family);
const char *kiln_family_text(enum kiln_kernel_family family);

/* The family of an operation's class; KILN_FAMILY_FIRST if no row has it. */
enum kiln_kernel_family kiln_family_of_op(const struct kiln_op *op);

/* True if the operation is done once, in a kernel of its family: a core operation. All others can
 * be done by any kernel that walks over their domain. */
bool kiln_op_is_core(const struct kiln_op *op);

#endif
