/* One tensor of the wire to a tensor of the graph: type, role, shape, strides, constant. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ragged.h"
#include "compiler/reference/convert.h"

#include <string.h>

/* What is being imported, for the checks and their sentences. */
struct import {
    struct kiln_graph_builder *builder;
    const struct kiln_node *node;
    const struct kiln_wire_tensor *wire;
    struct kiln_tensor *tensor;
};

/* The highest wire number with a meaning: INT32 then, FP8_E5M2_FNUZ now (hipdnn-november-2026.md
 * 1.4). */
static const uint8_t last_known_type[] = {
    [KILN_WIRE_ERA_NOV2025] = 6, [KILN_WIRE_ERA_CURRENT] = 18};

/* Promises beyond this are cut to it: nothing gains from more. */
#define ALIGNMENT_LIMIT ((int64_t)1 << 30)

#define REJECT(import, reason, ...)                                                                \
    kiln_reject_tensor((import)->builder->error, KILN_REJECT_##reason, &(import)->builder->graph,  \
                       (import)->node, (import)->tensor, __VA_ARGS__)

bool kiln_dtype_read(enum kiln_wire_era era, uint8_t wire, enum kiln_dtype *ret_dtype)
{
    return wire <= last_known_type[era] && kiln_dtype_from_wire(wire, ret_dtype);
}

enum kiln_reject_reason kiln_dtype_reject_reason(enum kiln_wire_era era, uint8_t wire)
{
    return wire <= last_known_type[era] ? KILN_REJECT_UNSUPPORTED_TYPE : KILN_REJECT_UNKNOWN_TYPE;
}

const char *kiln_name_copy(struct kiln_arena *arena, struct kiln_wire_text name)
{
    size_t limit = name.length < KILN_MAX_NAME_BYTES ? name.length : KILN_MAX_NAME_BYTES;
    size_t length = limit != 0 ? strnlen(name.bytes, limit) : 0;
    return length != 0 ? kiln_arena_strndup(arena, name.bytes, length) : "";
}

static enum kiln_status import_type(const struct import *import)
{
    enum kiln_wire_era era = import->builder->wire->era;
    uint8_t type = import->wire->data_type;
    if (type == 0)
        return REJECT(import, UNSET_TYPE, "its data type is UNSET");
    if (!kiln_dtype_read(era, type, &import->tensor->dtype)) {
        if (kiln_dtype_reject_reason(era, type) == KILN_REJECT_UNSUPPORTED_TYPE)
            return REJECT(import, UNSUPPORTED_TYPE, "data type %u is not supported", type);
        return REJECT(import, UNKNOWN_TYPE, "data type %u is unknown", type);
    }
    return KILN_OK;
}

/* The stride of a dim of size 1 is meaningless on the wire and becomes 0. */
static enum kiln_status import_shape(const struct import *import)
{
    const struct kiln_wire_tensor *wire = import->wire;
    struct kiln_tensor *tensor = import->tensor;
    /* A value says that a tensor is a scalar, and so does a vector of no dims. Writers that leave
     * empty vectors out do so for tensors of which nobody has said the shape, too. */
    bool has_value = wire->value_kind != KILN_WIRE_VALUE_NONE || wire->is_runtime_scalar;
    if (!wire->has_dims && !has_value)
        return REJECT(import, NO_DIMS, "its dimensions are missing");
    if (wire->dim_count > KILN_MAX_RANK)
        return REJECT(import, RANK, "rank %u, at most %d is supported", wire->dim_count,
                      KILN_MAX_RANK);
    if (wire->stride_count != wire->dim_count)
        return REJECT(import, STRIDE_COUNT, "%u %s for %u %s", wire->stride_count,
                      KILN_NOUN(wire->stride_count, "stride"), wire->dim_count,
                      KILN_NOUN(wire->dim_count, "dimension"));
    tensor->rank = wire->dim_count;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (i == KILN_RAGGED_SEQUENCE && kiln_tensor_is_ragged(tensor) && wire->dims[i] == 0) {
            tensor->dims[i] = 1; /* no batch has a token */
            continue;
        }
        if (wire->dims[i] < 1)
            return REJECT(import, DIMENSION, "dimension %u is %lld, must be at least 1", i,
                          (long long)wire->dims[i]);
        if (wire->dims[i] > 1 && wire->strides[i] < 0)
            return REJECT(import, STRIDE, "stride %u is %lld, must not be negative", i,
                          (long long)wire->strides[i]);
        tensor->dims[i] = wire->dims[i];
        tensor->strides[i] = wire->dims[i] > 1 ? wire->strides[i] : 0;
    }
    if (kiln_tensor_is_ragged(tensor))
        tensor->strides[KILN_RAGGED_BATCH] = 0;
    return KILN_OK;
}

/* Reads the members that only ragged tensors have. Their offsets are found later (ragged.c). */
static enum kiln_status import_ragged(const struct import *import)
{
    const struct kiln_wire_tensor *wire = import->wire;
    struct kiln_ragged *ragged = &import->tensor->ragged;
    if (wire->dim_count != KILN_RAGGED_RANK || wire->stride_count != KILN_RAGGED_RANK)
        return REJECT(import, RAGGED,
                      "a ragged tensor of rank %u, must have %d: batch, heads, "
                      "sequence, depth",
                      wire->dim_count, KILN_RAGGED_RANK);
    if (wire->ragged_multiplier < 1)
        return REJECT(import, RAGGED, "ragged_offset_multiplier is %lld, must be at least 1",
                      (long long)wire->ragged_multiplier);
    ragged->multiplier = wire->ragged_multiplier;
    ragged->offsets = KILN_NONE;
    ragged->token = wire->strides[KILN_RAGGED_SEQUENCE];
    ragged->longest = wire->dims[KILN_RAGGED_SEQUENCE];
    return KILN_OK;
}

/* Tokens do not overlap, and all that valid offsets can ask for, in bytes, fits in int64. */
static enum kiln_status check_ragged_size(const struct import *import)
{
    const struct kiln_tensor *tensor = import->tensor;
    const struct kiln_ragged *ragged = &tensor->ragged;
    int64_t span = 1, bytes = kiln_dtype_info(tensor->dtype)->bytes;
    for (uint32_t i = 0; i < KILN_RAGGED_RANK; i++)
        span += i == KILN_RAGGED_SEQUENCE ? 0 : (tensor->dims[i] - 1) * tensor->strides[i];
    if (ragged->token < span)
        return REJECT(import, RAGGED,
                      "a ragged tensor with stride %lld along its sequence, less than the %lld "
                      "elements that a token has",
                      (long long)ragged->token, (long long)span);
    if (__builtin_mul_overflow(bytes, tensor->dims[0], &bytes) ||
        __builtin_mul_overflow(bytes, ragged->token, &bytes) ||
        __builtin_mul_overflow(bytes, ragged->longest > 0 ? ragged->longest : 1, &bytes))
        return REJECT(import, TOO_LARGE, "its size in bytes exceeds 2^63");
    return KILN_OK;
}

/* Elements and footprint, both in bytes, fit in int64; packed elements are counted in bits too. */
static enum kiln_status check_size(const struct import *import)
{
    const struct kiln_tensor *tensor = import->tensor;
    int64_t bytes = kiln_dtype_is_packed(tensor->dtype) ? 8 : kiln_dtype_info(tensor->dtype)->bytes;
    int64_t dense = bytes;
    int64_t span = bytes;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        int64_t step;
        if (__builtin_mul_overflow(dense, tensor->dims[i], &dense) ||
            __builtin_mul_overflow(tensor->dims[i] - 1, tensor->strides[i], &step) ||
            __builtin_mul_overflow(step, bytes, &step) || __builtin_add_overflow(span, step, &span))
            return REJECT(import, TOO_LARGE, "its size in bytes exceeds 2^63");
    }
    return kiln_tensor_is_ragged(tensor) ? check_ragged_size(import) : KILN_OK;
}

/*
 * Sufficient for elements to be apart, and what every layout that permutes and pads obeys: in order
 * of stride, each stride is beyond the reach of all smaller ones. Layouts whose strides interleave
 * without colliding are declined with the colliding ones.
 */
static enum kiln_status check_overlap(const struct import *import)
{
    const struct kiln_tensor *tensor = import->tensor;
    uint32_t order[KILN_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = kiln_tensor_is_ragged(tensor) ? 1 : 0; i < tensor->rank; i++) {
        if (tensor->dims[i] == 1)
            continue;
        uint32_t hole = count++;
        for (; hole > 0 && tensor->strides[order[hole - 1]] > tensor->strides[i]; hole--)
            order[hole] = order[hole - 1];
        order[hole] = i;
    }
    int64_t reach = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = order[k];
        if (tensor->strides[i] <= reach)
            return REJECT(import, OVERLAP,
                          "it is written, and with stride %lld of dimension %u two of its elements "
                          "may be at the same place",
                          (long long)tensor->strides[i], i);
        reach += (tensor->dims[i] - 1) * tensor->strides[i];
    }
    return KILN_OK;
}

/* Packed elements fill their bytes: the strides are those of some order of the dims without gaps.
 */
static enum kiln_status check_packed(const struct import *import)
{
    const struct kiln_tensor *tensor = import->tensor;
    if (!kiln_dtype_is_packed(tensor->dtype))
        return KILN_OK;
    if (tensor->role == KILN_TENSOR_CONSTANT || tensor->role == KILN_TENSOR_HOST_SCALAR)
        return REJECT(import, UNSUPPORTED_TYPE, "a %s of type %s",
                      tensor->role == KILN_TENSOR_CONSTANT ? "constant" : "host scalar",
                      kiln_dtype_info(tensor->dtype)->text);
    int64_t dense = 1;
    uint32_t done = 0;
    for (uint32_t placed = 0; placed < tensor->rank; placed++) {
        uint32_t next = 0;
        while (next < tensor->rank && ((done >> next & 1) != 0 ||
                                       (tensor->dims[next] != 1 && tensor->strides[next] != dense)))
            next++;
        if (next == tensor->rank)
            return REJECT(
                import, PACKED_LAYOUT,
                "its elements of type %s are packed, and its strides leave gaps or overlap",
                kiln_dtype_info(tensor->dtype)->text);
        done |= 1u << next;
        dense *= tensor->dims[next];
    }
    return KILN_OK;
}

/* A zero-stride scalar may have any rank, but only one element. */
static bool is_scalar(const struct kiln_tensor *tensor)
{
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] != 1)
            return false;
    }
    return true;
}

static int64_t clamp_to_dtype(enum kiln_dtype dtype, int64_t value)
{
    switch (dtype) {
    case KILN_DTYPE_U8:
        return value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value;
    case KILN_DTYPE_I8:
        return value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value;
    case KILN_DTYPE_I4:
        return value < -8 ? -8 : value > 7 ? 7 : value;
    case KILN_DTYPE_I32:
        return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value;
    case KILN_DTYPE_BOOL:
        return value != 0;
    default:
        return value;
    }
}

static struct kiln_constant constant_from_integer(enum kiln_dtype dtype, int64_t value)
{
    if (!kiln_dtype_is_integer(dtype))
        return (struct kiln_constant){.real = kiln_round_to_dtype(dtype, (double)value)};
    int64_t integer = clamp_to_dtype(dtype, value);
    return (struct kiln_constant){.real = (double)integer, .integer = integer};
}

static struct kiln_constant constant_from_real(enum kiln_dtype dtype, double value)
{
    if (!kiln_dtype_is_integer(dtype))
        return (struct kiln_constant){.real = kiln_round_to_dtype(dtype, value)};
    if (dtype == KILN_DTYPE_BOOL)
        return constant_from_integer(dtype, value != 0.0);
    return constant_from_integer(dtype, kiln_round_to_integer(value, INT64_MIN, INT64_MAX));
}

/* By the kind of the value, not by the data type: the two need not agree on the wire. */
static enum kiln_status import_constant(const struct import *import)
{
    const struct kiln_wire_tensor *wire = import->wire;
    struct kiln_tensor *tensor = import->tensor;
    if (!wire->is_value_known)
        return REJECT(import, VALUE, "its constant of kind %u is absent or unknown",
                      wire->value_kind);
    switch ((enum kiln_wire_value_kind)wire->value_kind) {
    case KILN_WIRE_VALUE_FLOAT32:
    case KILN_WIRE_VALUE_FLOAT16:
    case KILN_WIRE_VALUE_BFLOAT16:
    case KILN_WIRE_VALUE_FLOAT64:
        tensor->constant = constant_from_real(tensor->dtype, wire->real);
        return KILN_OK;
    case KILN_WIRE_VALUE_INT32:
    case KILN_WIRE_VALUE_INT64:
    case KILN_WIRE_VALUE_BOOL:
        tensor->constant = constant_from_integer(tensor->dtype, wire->integer);
        return KILN_OK;
    case KILN_WIRE_VALUE_FLOAT8:
        /* The raw byte of whichever one-byte type the tensor has. */
        if (kiln_dtype_info(tensor->dtype)->bytes == 1) {
            uint8_t raw = (uint8_t)wire->integer;
            tensor->constant = kiln_element_load(tensor->dtype, &raw);
            return KILN_OK;
        }
        return REJECT(import, VALUE, "a one-byte constant for data type %s",
                      kiln_dtype_info(tensor->dtype)->text);
    case KILN_WIRE_VALUE_NONE:
        break;
    }
    return kiln_error_set(import->builder->error, KILN_INTERNAL, "constant of kind %u not read",
                          wire->value_kind);
}

static enum kiln_status import_role(const struct import *import)
{
    const struct kiln_wire_tensor *wire = import->wire;
    struct kiln_tensor *tensor = import->tensor;
    bool produced = tensor->producer != KILN_NONE;
    bool is_constant = wire->value_kind != KILN_WIRE_VALUE_NONE;
    if (is_constant || wire->is_runtime_scalar) {
        const char *text = is_constant ? "constant" : "host scalar";
        /* A value that is given at execute by default but baked in here is a constant. */
        tensor->role = is_constant ? KILN_TENSOR_CONSTANT : KILN_TENSOR_HOST_SCALAR;
        if (produced)
            return REJECT(import, SCALAR_WRITTEN, "a %s that the node writes", text);
        if (!is_scalar(tensor))
            return REJECT(import, SCALAR_SIZE, "a %s with more than one element", text);
        if (!is_constant && wire->is_virtual)
            return REJECT(import, SCALAR_VIRTUAL, "a host scalar that is marked virtual");
        return is_constant ? import_constant(import) : KILN_OK;
    }
    if (wire->is_virtual) {
        tensor->role = KILN_TENSOR_VIRTUAL;
        if (!produced)
            return REJECT(import, NEVER_WRITTEN, "virtual, and no node writes it");
        return KILN_OK;
    }
    tensor->role = produced ? KILN_TENSOR_OUTPUT : KILN_TENSOR_INPUT;
    return KILN_OK;
}

static enum kiln_status import_alignment(const struct import *import)
{
    int64_t alignment = import->wire->alignment_bytes;
    if (alignment < 1 || (alignment & (alignment - 1)) != 0)
        return REJECT(import, ALIGNMENT, "alignment of %lld bytes, must be a power of two",
                      (long long)alignment);
    int64_t element = kiln_dtype_info(import->tensor->dtype)->bytes;
    if (alignment < element)
        alignment = element;
    if (alignment > ALIGNMENT_LIMIT)
        alignment = ALIGNMENT_LIMIT;
    import->tensor->alignment_bytes = (uint32_t)alignment;
    return KILN_OK;
}

enum kiln_status kiln_tensor_import(struct kiln_graph_builder *builder,
                                    const struct kiln_node *node, uint32_t wire_tensor,
                                    struct kiln_tensor *ret_tensor)
{
    const struct kiln_wire_tensor *wire = &builder->wire->tensors[wire_tensor];
    const char *name = kiln_name_copy(builder->arena, wire->name);
    if (name == NULL)
        return kiln_graph_no_memory(builder->error);
    *ret_tensor = (struct kiln_tensor){
        .uid = wire->uid, .name = name, .producer = builder->producers[wire_tensor]};
    const struct import import = {builder, node, wire, ret_tensor};

    if (!wire->ragged_offsets.present && wire->ragged_multiplier != 1)
        return REJECT(&import, RAGGED, "ragged_offset_multiplier is %lld, and it has no offsets",
                      (long long)wire->ragged_multiplier);
    enum kiln_status status = import_type(&import);
    if (status == KILN_OK && wire->ragged_offsets.present)
        status = import_ragged(&import);
    if (status == KILN_OK)
        status = import_shape(&import);
    if (status == KILN_OK)
        status = check_size(&import);
    if (status == KILN_OK)
        status = import_role(&import);
    if (status == KILN_OK)
        status = check_packed(&import);
    if (status == KILN_OK && ret_tensor->producer != KILN_NONE)
        status = check_overlap(&import);
    if (status == KILN_OK)
        status = import_alignment(&import);
    return status;
}
