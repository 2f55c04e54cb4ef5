/*
 * A graph as it stands on the wire: verified, era-free in form, nothing checked in meaning.
 *
 * The border between wire.cc, which knows FlatBuffers, and the checks in C. Texts point into the
 * bytes they were parsed from. Internal to compiler/graph.
 */
#ifndef KILN_COMPILER_GRAPH_WIRE_GRAPH_H
#define KILN_COMPILER_GRAPH_WIRE_GRAPH_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    KILN_MAX_GRAPH_NODES = 4096,
    KILN_MAX_GRAPH_TENSORS = 16384,
    KILN_MAX_GRAPH_BYTES = 64 << 20,
};

/* Union types of NodeAttributes. */
enum {
#define KILN_WIRE_NODE(number, name, text, first_era, reader) KILN_WIRE_NODE_##name = number,
#include "compiler/graph/wire_node.def"
};

/* Phases of the forward norms. */
enum kiln_wire_phase {
    KILN_WIRE_PHASE_NOT_SET = 0,
    KILN_WIRE_PHASE_INFERENCE = 1,
    KILN_WIRE_PHASE_TRAINING = 2,
};

/* What a convolution does with its filter. */
enum kiln_wire_convolution_mode {
    KILN_WIRE_CONVOLUTION_UNSET = 0,
    KILN_WIRE_CONVOLUTION_FLIPPED = 1, /* CONVOLUTION: the last tap comes first */
    KILN_WIRE_CONVOLUTION_CROSS_CORRELATION = 2,
};

/* Where the diagonal of attention's bounds lies, and how attention may be carried out. */
enum {
    KILN_WIRE_ALIGNMENT_TOP_LEFT = 0,
    KILN_WIRE_ALIGNMENT_BOTTOM_RIGHT = 1,
    KILN_WIRE_IMPLEMENTATION_LAST = 2,
};

/* Union types of TensorValue. */
enum kiln_wire_value_kind {
    KILN_WIRE_VALUE_NONE = 0,
    KILN_WIRE_VALUE_FLOAT32 = 1,
    KILN_WIRE_VALUE_FLOAT16 = 2,
    KILN_WIRE_VALUE_BFLOAT16 = 3,
    KILN_WIRE_VALUE_FLOAT8 = 4, /* raw bits, in `integer` */
    KILN_WIRE_VALUE_INT32 = 5,
    KILN_WIRE_VALUE_FLOAT64 = 6,
    KILN_WIRE_VALUE_INT64 = 7,
    KILN_WIRE_VALUE_BOOL = 8,
};

struct kiln_wire_text {
    const char *bytes; /* not NULL; `length` bytes of anything */
    uint32_t length;
};

struct kiln_wire_uid {
    bool present;
    int64_t uid;
};

struct kiln_wire_tensor {
    int64_t uid;
    struct kiln_wire_text name;
    uint8_t data_type;
    bool is_virtual;
    bool is_runtime_scalar;
    uint8_t value_kind;      /* enum kiln_wire_value_kind or an unknown number */
    bool is_value_known;     /* `real` or `integer` holds a value of this kind */
    bool has_dims;           /* `dims` is on the wire, if only as an empty vector */
    uint32_t dim_count;      /* as on the wire; the first KILN_MAX_RANK are copied */
    uint32_t stride_count;   /* same */
    int64_t alignment_bytes; /* 16 where the wire says nothing */
    double real;             /* value of the floating-point kinds */
    int64_t integer;         /* value of the others */
    int64_t dims[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK];
    struct kiln_wire_uid ragged_offsets;
    int64_t ragged_multiplier; /* of offsets; 1 where the wire says nothing */
};

struct kiln_wire_float {
    bool present;
    float value;
};

struct kiln_wire_pointwise {
    uint8_t mode;
    int64_t in_0;
    int64_t out_0;
    struct kiln_wire_uid in_1;
    struct kiln_wire_uid in_2;
    struct kiln_wire_uid axis; /* an index, not a uid */
    struct kiln_wire_float relu_lower_clip;
    struct kiln_wire_float relu_upper_clip;
    struct kiln_wire_float relu_lower_clip_slope;
    struct kiln_wire_float swish_beta;
    struct kiln_wire_float elu_alpha;
    struct kiln_wire_float softplus_beta;
};

struct kiln_wire_reduction {
    uint8_t mode;
    int64_t in;
    int64_t out;
};

struct kiln_wire_matmul {
    int64_t a;
    int64_t b;
    int64_t c;
};

struct kiln_wire_list {
    uint32_t count; /* as on the wire; the first KILN_MAX_RANK items are copied */
    int64_t items[KILN_MAX_RANK];
};

enum kiln_wire_grouped_mode {
    KILN_WIRE_GROUPED_NONE,
    KILN_WIRE_GROUPED_GATHER,
    KILN_WIRE_GROUPED_SCATTER,
};

/* A grouped matrix product, or its gradient. */
struct kiln_wire_grouped_matmul {
    struct kiln_wire_uid operands[KILN_OPERAND_COUNT]; /* by enum kiln_operand */
    uint8_t mode;  /* enum kiln_wire_grouped_mode or anything; the gradient: NONE */
    int32_t top_k; /* the gradient: 0 */
};

/* All three directions. */
struct kiln_wire_convolution {
    int64_t operands[3]; /* two inputs and the output, in the order of the wire's slots */
    struct kiln_wire_list pre_padding;
    struct kiln_wire_list post_padding;
    struct kiln_wire_list stride;
    struct kiln_wire_list dilation;
    uint8_t mode; /* enum kiln_wire_convolution_mode or anything */
};

enum kiln_wire_resample_mode {
    KILN_WIRE_RESAMPLE_UNSET,
    KILN_WIRE_RESAMPLE_MAXPOOL,
    KILN_WIRE_RESAMPLE_AVGPOOL_EXCLUDE_PADDING,
    KILN_WIRE_RESAMPLE_AVGPOOL_INCLUDE_PADDING,
};

enum kiln_wire_padding_mode {
    KILN_WIRE_PADDING_UNSET,
    KILN_WIRE_PADDING_NEG_INF,
    KILN_WIRE_PADDING_ZERO,
};

/* Both directions. */
struct kiln_wire_resample {
    int64_t input;  /* x, or dy */
    int64_t output; /* y, or dx */
    struct kiln_wire_uid index;
    struct kiln_wire_list pre_padding;
    struct kiln_wire_list post_padding;
    struct kiln_wire_list stride;
    struct kiln_wire_list window;
    uint8_t mode;         /* enum kiln_wire_resample_mode or anything */
    uint8_t padding_mode; /* enum kiln_wire_padding_mode or anything */
    bool wants_index;     /* generate_index is there and true */
};

struct kiln_wire_block_quantize {
    int64_t x;
    int64_t y;
    int64_t scale;
    int64_t block_size;
    struct kiln_wire_uid axis; /* an index, not a uid */
    bool transposes;
};

struct kiln_wire_dequantize {
    int64_t x;
    int64_t scale;
    int64_t y;
    struct kiln_wire_list blocks;
    bool is_negative_scale;
};

/*
 * Norms and batch norms of all kinds. A uid that the layout cannot mark as absent is present here,
 * as 0 when it was not written.
 */
struct kiln_wire_normalization {
    struct kiln_wire_uid operands[KILN_OPERAND_COUNT]; /* by enum kiln_operand */
    int64_t normalized_dim_count;                      /* layernorm */
    uint8_t forward_phase;                             /* enum kiln_wire_phase or anything */
    uint32_t peer_count;                               /* batchnorm: entries of peer_stats */
};

/* A 64-bit number that may be absent. */
struct kiln_wire_integer {
    bool present;
    int64_t value;
};

/* Attention, forward and backward. */
struct kiln_wire_attention {
    struct kiln_wire_uid operands[KILN_OPERAND_COUNT]; /* by enum kiln_operand */
    /* Operands that a node is declined for. Not read are SEED and OFFSET, which say something where
     * there is dropout, and max_seq_len_kv, where there are pages: both are declined. */
    struct kiln_wire_uid dropout_mask, dropout_scale, dropout_scale_inverse;
    struct kiln_wire_uid page_table_k, page_table_v, block_mask, rng_dump;
    bool wants_statistics; /* generate_stats is there and true */
    bool has_alibi_mask;
    bool has_padding_mask;
    bool is_causal;
    bool is_causal_bottom_right;
    struct kiln_wire_float dropout_probability;
    struct kiln_wire_float scale;
    struct kiln_wire_integer left_bound;
    struct kiln_wire_integer right_bound;
    uint8_t diagonal_alignment;
    uint8_t core_type; /* a data type, 0: not given */
    uint8_t implementation;
};

struct kiln_wire_node {
    struct kiln_wire_text name;
    uint8_t compute_type;    /* 0: not given */
    uint8_t attributes_type; /* union type, see wire_node.def */
    bool has_attributes;
    union {
        struct kiln_wire_grouped_matmul grouped_matmul;
        struct kiln_wire_pointwise pointwise;         /* KILN_WIRE_NODE_POINTWISE */
        struct kiln_wire_reduction reduction;         /* KILN_WIRE_NODE_REDUCTION */
        struct kiln_wire_matmul matmul;               /* KILN_WIRE_NODE_MATMUL */
        struct kiln_wire_convolution convolution;     /* KILN_WIRE_NODE_CONVOLUTION_x */
        struct kiln_wire_normalization normalization; /* the norms and batch norms */
        struct kiln_wire_attention attention;         /* KILN_WIRE_NODE_ATTENTION, its gradients */
        struct kiln_wire_resample resample;           /* KILN_WIRE_NODE_RESAMPLE_* */
        struct kiln_wire_block_quantize block_quantize; /* KILN_WIRE_NODE_BLOCK_SCALE_QUANTIZE */
        struct kiln_wire_dequantize dequantize;         /* KILN_WIRE_NODE_BLOCK_SCALE_DEQUANTIZE */
        /* Other kinds get their fields here. */
    };
};

struct kiln_wire_version {
    bool present;
    uint32_t major;
    uint32_t minor;
    uint32_t patch;
};

struct kiln_wire_graph {
    enum kiln_wire_era era;
    struct kiln_wire_text name;
    uint8_t compute_type;
    bool has_override_shapes;
    struct kiln_wire_version min_api_version;
    uint32_t tensor_count;
    uint32_t node_count;
    struct kiln_wire_tensor *tensors;
    struct kiln_wire_node *nodes;
};

/*
 * Decides the era, verifies and reads. The arrays belong to the arena; texts point into `bytes`, or
 * into an aligned copy in the arena where `bytes` is not 8-byte aligned. Declines bytes that fail
 * verification and counts above the limits.
 */
enum kiln_status kiln_wire_graph_parse(const void *bytes, size_t size, struct kiln_arena *arena,
                                       struct kiln_wire_graph *ret_graph,
                                       struct kiln_error *error) KILN_NODISCARD;

/* The first half of the above: era and verification. `bytes` must be 8-byte aligned. */
enum kiln_status kiln_wire_graph_verify(const void *bytes, size_t size, enum kiln_wire_era *ret_era,
                                        struct kiln_error *error) KILN_NODISCARD;

/* The union type that a kind is written with; batchnorm inference has a second one. */
uint8_t kiln_node_wire_type(enum kiln_node_kind kind);
/* The spelling of a union type, NULL when the era does not know it. Static. */
const char *kiln_wire_node_text(uint8_t attributes_type, enum kiln_wire_era era);

#ifdef __cplusplus
}
#endif
#endif
