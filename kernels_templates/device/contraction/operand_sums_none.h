/*
 * All work-groups multiply. (The other choice: operand_sums.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_OPERAND_SUMS_NONE_H
#define KILN_DEVICE_CONTRACTION_OPERAND_SUMS_NONE_H

#define KILN_ENTRY_PACKS                         0
#define kiln_does_sums(arguments, group, shared) false

#endif
