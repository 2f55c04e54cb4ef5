/*
 * Rules that infer the sizes of a node's results from its inputs. Internal to compiler/graph.
 *
 * Every rule starts from the declared graph, which is whole and checked. Inputs do not tell
 * everything: the remainder of a strided window, for one, is as declared.
 */
#ifndef KILN_COMPILER_GRAPH_SIZE_INFERENCE_H
#define KILN_COMPILER_GRAPH_SIZE_INFERENCE_H

#include "compiler/graph/graph.h"

struct kiln_size_inference {
    const struct kiln_graph *declared;
    const struct kiln_tensor *tensors; /* by ordinal: with the sizes of now, as far as known */
    const struct kiln_node *node;      /* of `declared` */
};

/* Changes the sizes of result `output` of the node, which are the declared ones before. */
typedef void kiln_size_rule(const struct kiln_size_inference *inference, uint32_t output,
                            int64_t dims[KILN_MAX_RANK]);

/* Rules of kinds of nodes; struct kiln_node_reader has them. */
kiln_size_rule kiln_infer_pointwise;
kiln_size_rule kiln_infer_reduction;
kiln_size_rule kiln_infer_normalization;
kiln_size_rule kiln_infer_matmul;
kiln_size_rule kiln_infer_convolution;
kiln_size_rule kiln_infer_attention;
kiln_size_rule kiln_infer_resample;
kiln_size_rule kiln_infer_block_quantize;
kiln_size_rule kiln_infer_block_scale;
kiln_size_rule kiln_infer_grouped_matmul;

/* Sets sizes and strides of the virtual tensors, or of all results, in `tensors`. Their ranks may
 * lack trailing ones that the declared graph has. */
void kiln_infer_sizes(const struct kiln_graph *declared, struct kiln_tensor *tensors,
                      bool only_virtual);

#endif
