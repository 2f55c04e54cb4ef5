/*
 * Views: the same elements along other axes.
 *
 * A domain *splits* a shape if each axis of the shape is one or several neighbouring axes of the
 * domain, outermost first: [4, 2, 32] splits [4, 64]. Axes of size 1 may come and go. Elements keep
 * their row-major order, so a split domain sees any strided memory of the shape through strides of
 * its own. The domain of a LOAD, a STORE or a value that is a tensor's content may split the
 * tensor's shape. So a kernel for blocks of an axis loads and stores ordinary tensors.
 *
 * The last block of a split axis may be short: [4, 3, 32] with an end of 70 splits [4, 70]. Each
 * point beyond the end stands for some element of its block, in all values alike. So elementwise
 * work is the same along either domain, and the largest element of a block needs no mask. A STORE
 * writes an element again, if anything, for such a point. Other reductions than of the largest
 * element would count some elements twice.
 *
 * A VIEW is a value seen along other axes than it is computed along. The kernel that evaluates a
 * VIEW reads its operand from memory. The pass move_views.c removes views that need no memory.
 */
#ifndef KILN_COMPILER_IR_VIEW_H
#define KILN_COMPILER_IR_VIEW_H

#include "compiler/ir/ir.h"

/* Strides of memory with a shape as seen from a domain that splits it, 0 on axes of size 1. False
 * if it does not. `ret_strides` has KILN_MAX_RANK entries. */
bool kiln_view_strides(const struct kiln_domain *domain, const int64_t *dims,
                       const int64_t *strides, uint32_t rank, int64_t *ret_strides);

/* The shape with the axes of a short last block as one again. */
struct kiln_domain kiln_domain_without_end(const struct kiln_domain *domain);

/* True if the domain splits the shape. */
bool kiln_domain_splits(const struct kiln_domain *domain, const int64_t *dims, uint32_t rank);

#endif
