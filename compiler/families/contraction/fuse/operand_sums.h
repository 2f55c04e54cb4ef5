/*
 * Sums of a product's operand over k in the kernel of the product (compiler/ir/operand_sums.h): a
 * bias gradient beside a weight gradient. Where a long k is cut into segments, the kernel stores
 * the sums of each, and a COMBINE kernel adds them up; else it has the whole sum, whatever is done
 * to the product. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_OPERAND_SUMS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_OPERAND_SUMS_H

#include "compiler/fuse/cluster.h"

/* Fills summed_with and operand_sum (contraction_grouping.h): for each sum, or product, the other
 * one. A product has one such sum at most. */
void kiln_find_operand_sums(struct kiln_group_builder *builder);

/* Puts the REDUCE `index` into the kernel of the product that it was found for; false: there is
 * none, or it cannot. */
bool kiln_place_operand_sum(struct kiln_group_builder *builder, uint32_t index);

/* True if a REDUCE is in such a kernel. */
bool kiln_is_sum_beside(const struct kiln_group_builder *builder, uint32_t index);

/* The domain of the sum that the cluster's kernel has all of; KILN_NONE where there is none, or
 * segments of it only. */
uint32_t kiln_operand_sum_domain(const struct kiln_group_builder *builder,
                                 const struct kiln_cluster *cluster);

/* True if the kernel of a cluster that has such a sum could compute this operation, of which some
 * operand is of that cluster: from the sum, and nothing that the product's elements are of. */
bool kiln_operand_sum_allows(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t index);

#endif
