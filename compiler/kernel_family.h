/*
 * Families of kernels: the rows of kernel_family.def.
 */
#ifndef KILN_COMPILER_KERNEL_FAMILY_H
#define KILN_COMPILER_KERNEL_FAMILY_H

enum kiln_kernel_family {
#define KILN_FAMILY(name, lower, op_class, text) KILN_FAMILY_##name,
#include "compiler/kernel_family.def"
    KILN_FAMILY_COUNT
};

/* "pointwise", and what kernels of the family do. Static. */
const char *kiln_family_name(enum kiln_kernel_family family);
const char *kiln_family_text(enum kiln_kernel_family family);

#endif
