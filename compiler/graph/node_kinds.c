/* Which kinds of nodes exist on the wire, and which of them have a reader. */
#include "compiler/graph/graph_builder.h"

const struct kiln_node_reader *kiln_node_reader(uint8_t attributes_type)
{
    switch (attributes_type) {
    case KILN_WIRE_NODE_BATCHNORM_INFERENCE:
        return &kiln_batchnorm_inference_reader;
    case KILN_WIRE_NODE_POINTWISE:
        return &kiln_pointwise_reader;
    case KILN_WIRE_NODE_BATCHNORM_BACKWARD:
        return &kiln_batchnorm_backward_reader;
    case KILN_WIRE_NODE_BATCHNORM_TRAINING:
        return &kiln_batchnorm_training_reader;
    case KILN_WIRE_NODE_CONVOLUTION_FORWARD:
        return &kiln_convolution_forward_reader;
    case KILN_WIRE_NODE_CONVOLUTION_DATA_GRADIENT:
        return &kiln_convolution_data_gradient_reader;
    case KILN_WIRE_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        return &kiln_convolution_weight_gradient_reader;
    case KILN_WIRE_NODE_BATCHNORM_INFERENCE_VARIANCE:
        return &kiln_batchnorm_inference_variance_reader;
    case KILN_WIRE_NODE_MATMUL:
        return &kiln_matmul_reader;
    case KILN_WIRE_NODE_RMSNORM:
        return &kiln_rmsnorm_reader;
    case KILN_WIRE_NODE_LAYERNORM:
        return &kiln_layernorm_reader;
    case KILN_WIRE_NODE_ATTENTION:
        return &kiln_attention_reader;
    case KILN_WIRE_NODE_ATTENTION_BACKWARD:
        return &kiln_attention_backward_reader;
    case KILN_WIRE_NODE_RMSNORM_BACKWARD:
        return &kiln_rmsnorm_backward_reader;
    case KILN_WIRE_NODE_REDUCTION:
        return &kiln_reduction_reader;
    case KILN_WIRE_NODE_LAYERNORM_BACKWARD:
        return &kiln_layernorm_backward_reader;
    /* Readers of other kinds are added here, in files named node_<kind>.c. */
    default:
        return NULL;
    }
}

const struct kiln_node_reader *kiln_node_kind_reader(enum kiln_node_kind kind)
{
    switch (kind) {
    case KILN_NODE_POINTWISE:
        break;
    case KILN_NODE_REDUCTION:
        return &kiln_reduction_reader;
    case KILN_NODE_LAYERNORM:
        return &kiln_layernorm_reader;
    case KILN_NODE_LAYERNORM_BACKWARD:
        return &kiln_layernorm_backward_reader;
    case KILN_NODE_RMSNORM:
        return &kiln_rmsnorm_reader;
    case KILN_NODE_RMSNORM_BACKWARD:
        return &kiln_rmsnorm_backward_reader;
    case KILN_NODE_BATCHNORM_INFERENCE:
        /* Both forms complete and check alike. */
        return &kiln_batchnorm_inference_reader;
    case KILN_NODE_BATCHNORM_TRAINING:
        return &kiln_batchnorm_training_reader;
    case KILN_NODE_BATCHNORM_BACKWARD:
        return &kiln_batchnorm_backward_reader;
    case KILN_NODE_MATMUL:
        return &kiln_matmul_reader;
    case KILN_NODE_CONVOLUTION_FORWARD:
        return &kiln_convolution_forward_reader;
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
        return &kiln_convolution_data_gradient_reader;
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        return &kiln_convolution_weight_gradient_reader;
    case KILN_NODE_ATTENTION:
        return &kiln_attention_reader;
    case KILN_NODE_ATTENTION_BACKWARD:
        return &kiln_attention_backward_reader;
    }
    return &kiln_pointwise_reader;
}

const char *kiln_wire_node_text(uint8_t attributes_type, enum kiln_wire_era era)
{
    static const struct {
        const char *text;
        enum kiln_wire_era first_era;
    } kinds[] = {
#define KILN_WIRE_NODE(number, text, first_era) [number] = {text, KILN_WIRE_ERA_##first_era},
#include "compiler/graph/wire_node.def"
    };
    if (attributes_type >= sizeof kinds / sizeof *kinds || kinds[attributes_type].text == NULL ||
        era < kinds[attributes_type].first_era)
        return NULL;
    return kinds[attributes_type].text;
}
