/*
 * Pooling and its gradients: REDUCEs through a map, whose taps go along the same axes of what is
 * read as the points of the result. Where one window holds the image, they are ordinary REDUCEs and
 * broadcasts.
 */
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

#include <float.h>
#include <math.h>

enum { SPATIAL_AXIS = 2 }; /* the first */

struct pooling {
    struct kiln_importer *importer;
    struct kiln_ir *ir;
    const struct kiln_node *node;
    const struct kiln_resample *resample;
    const struct kiln_tensor *image;  /* x, or dx */
    const struct kiln_tensor *result; /* y, or dy */
    enum kiln_scalar scalar;
};

static struct pooling view(struct kiln_importer *importer, const struct kiln_node *node)
{
    bool is_forward = node->kind == KILN_NODE_RESAMPLE_FORWARD;
    const struct kiln_tensor *input = &importer->graph->tensors[node->inputs[0]];
    const struct kiln_tensor *output = &importer->graph->tensors[node->outputs[0]];
    return (struct pooling){
        .importer = importer,
        .ir = importer->ir,
        .node = node,
        .resample = &node->resample,
        .image = is_forward ? input : output,
        .result = is_forward ? output : input,
        .scalar = kiln_node_scalar(importer->graph, node),
    };
}

static uint32_t domain_of(const struct pooling *pooling, const struct kiln_tensor *tensor)
{
    return kiln_ir_tensor_domain(pooling->ir, tensor);
}

static double lowest(const struct pooling *pooling)
{
    return pooling->scalar == KILN_SCALAR_F64 ? -DBL_MAX : -(double)FLT_MAX;
}

static uint32_t real(const struct pooling *pooling, double value)
{
    return kiln_ir_real(pooling->ir, pooling->scalar, value);
}

static uint32_t integer(const struct pooling *pooling, int64_t value)
{
    return kiln_ir_integer(pooling->ir, KILN_SCALAR_I32, value);
}

/* The larger of both; `least` if the value is NaN. */
static uint32_t at_least(struct kiln_ir *ir, uint32_t value, uint32_t least)
{
    return kiln_ir_select(ir, kiln_ir_binary(ir, KILN_OP_CMP_GT, value, least), value, least);
}

/* An operand in the type that the node computes in. */
static uint32_t operand(const struct pooling *pooling, uint32_t tensor)
{
    return kiln_ir_convert(pooling->ir, kiln_importer_value(pooling->importer, tensor),
                           pooling->scalar);
}

/* True if the largest elements have positions, which the node yields or reads. */
static bool has_index(const struct pooling *pooling)
{
    return kiln_node_output(pooling->node, KILN_OPERAND_INDEX) != KILN_NONE ||
           kiln_node_input(pooling->node, KILN_OPERAND_INDEX) != KILN_NONE;
}

/* ---- windows ---- */

/* The index along a spatial axis of an image or a result. */
static uint32_t spatial_index(const struct pooling *pooling, const struct kiln_tensor *tensor,
                              uint32_t spatial)
{
    if (tensor->dims[SPATIAL_AXIS + spatial] == 1 && !pooling->ir->is_general)
        return integer(pooling, 0);
    return kiln_import_index(pooling->ir, KILN_SCALAR_I32, domain_of(pooling, tensor),
                             tensor->rank - 1 - (SPATIAL_AXIS + spatial));
}

/* The sizes that decide the structure: declared ones, if general kernels serve smaller shapes. */
static const int64_t *deciding_dims(const struct pooling *pooling, const struct kiln_tensor *tensor)
{
    bool is_declared = pooling->ir->is_general && tensor->declared != NULL;
    return is_declared ? tensor->declared->dims : tensor->dims;
}

/* True if one window has all elements of the image. Positions in it are constants, which general
 * kernels cannot have. */
static bool holds_image(const struct pooling *pooling)
{
    const struct kiln_resample *resample = pooling->resample;
    const int64_t *image = deciding_dims(pooling, pooling->image);
    const int64_t *result = deciding_dims(pooling, pooling->result);
    for (uint32_t i = 0; i < resample->spatial_count; i++) {
        if (result[SPATIAL_AXIS + i] != 1 ||
            resample->window[i] - resample->pre_padding[i] < image[SPATIAL_AXIS + i])
            return false;
    }
    return !(pooling->ir->is_general && has_index(pooling));
}

/* True if some window reaches into padding along an axis. Windows of smaller shapes may, so general
 * kernels assume it. */
static bool reaches_padding_along(const struct pooling *pooling, uint32_t spatial)
{
    const struct kiln_resample *resample = pooling->resample;
    if (pooling->ir->is_general)
        return true;
    int64_t last = (pooling->result->dims[SPATIAL_AXIS + spatial] - 1) * resample->stride[spatial];
    return resample->pre_padding[spatial] > 0 ||
           last + resample->window[spatial] > pooling->image->dims[SPATIAL_AXIS + spatial];
}

static bool reaches_padding(const struct pooling *pooling)
{
    bool any = false;
    for (uint32_t i = 0; i < pooling->resample->spatial_count; i++)
        any = any || reaches_padding_along(pooling, i);
    return any;
}

static int64_t count_taps(const struct pooling *pooling)
{
    int64_t taps = 1;
    for (uint32_t i = 0; i < pooling->resample->spatial_count; i++)
        taps *= pooling->resample->window[i];
    return taps;
}

/* The elements of the image in the window of each result along an axis. */
static uint32_t count_elements_along(const struct pooling *pooling, uint32_t spatial)
{
    struct kiln_ir *ir = pooling->ir;
    const struct kiln_resample *resample = pooling->resample;
    int64_t size = pooling->image->dims[SPATIAL_AXIS + spatial];
    uint32_t begin =
        kiln_ir_binary(ir, KILN_OP_MUL, spatial_index(pooling, pooling->result, spatial),
                       integer(pooling, resample->stride[spatial]));
    begin =
        kiln_ir_binary(ir, KILN_OP_SUB, begin, integer(pooling, resample->pre_padding[spatial]));
    uint32_t end =
        kiln_ir_binary(ir, KILN_OP_ADD, begin, integer(pooling, resample->window[spatial]));
    end = kiln_ir_binary(ir, KILN_OP_MIN, end, integer(pooling, size));
    begin = kiln_ir_binary(ir, KILN_OP_MAX, begin, integer(pooling, 0));
    return kiln_ir_binary(ir, KILN_OP_MAX, kiln_ir_binary(ir, KILN_OP_SUB, end, begin),
                          integer(pooling, 0));
}

/* The elements of the image in the window of each result. Some windows reach into padding. The
 * count is the same for all channels. */
static uint32_t count_elements(const struct pooling *pooling)
{
    struct kiln_ir *ir = pooling->ir;
    int64_t whole = 1; /* along the axes without padding */
    uint32_t count = KILN_NONE;
    for (uint32_t i = 0; i < pooling->resample->spatial_count; i++) {
        if (!reaches_padding_along(pooling, i)) {
            whole *= pooling->resample->window[i];
            continue;
        }
        uint32_t along = count_elements_along(pooling, i);
        count = count == KILN_NONE ? along : kiln_ir_binary(ir, KILN_OP_MUL, count, along);
    }
    return kiln_ir_binary(ir, KILN_OP_MUL, count, integer(pooling, whole));
}

/* True if the divisors of a mean differ from window to window. */
static bool counts_elements(const struct pooling *pooling)
{
    return pooling->resample->mode == KILN_POOLING_MEAN_OF_IMAGE && reaches_padding(pooling);
}

/* Appends axes of taps to the axes of the result, whose sizes are there. All count from the right.
 */
static struct kiln_reduced_windows append_taps(const struct pooling *pooling, struct kiln_map *map,
                                               int64_t *sizes, const struct kiln_tensor *made,
                                               int64_t step)
{
    uint32_t rank = made->rank;
    for (uint32_t i = pooling->resample->spatial_count; i-- > 0;) {
        if (pooling->resample->window[i] == 1)
            continue;
        sizes[map->axis_count] = pooling->resample->window[i];
        map->axes[map->axis_count] = kiln_map_axis_along((uint8_t)(rank - 1 - (SPATIAL_AXIS + i)));
        map->axes[map->axis_count++].step = kiln_constant_number(step);
    }
    uint32_t kept = kiln_ir_kept_axes(pooling->ir, made);
    while (map->axis_count > 0 && sizes[map->axis_count - 1] == 1 &&
           (kept >> (map->axis_count - 1) & 1) == 0)
        map->axis_count--; /* a domain does not have it */
    int64_t dims[KILN_MAX_RANK];
    for (uint32_t i = 0; i < map->axis_count; i++)
        dims[i] = sizes[map->axis_count - 1 - i];
    return (struct kiln_reduced_windows){
        .map = map,
        .iteration = kiln_ir_domain_keeping(pooling->ir, dims, kept, map->axis_count),
        .domain = domain_of(pooling, made),
    };
}

static void begin_map(const struct kiln_tensor *made, struct kiln_map *map, int64_t *sizes)
{
    *map = (struct kiln_map){.axis_count = made->rank};
    for (uint32_t i = 0; i < made->rank; i++) {
        map->axes[i] = kiln_map_axis_along((uint8_t)i);
        sizes[i] = made->dims[made->rank - 1 - i];
    }
}

/* The image that the windows of results have: image = result * stride + tap - pre_padding. */
static struct kiln_reduced_windows find_windows(const struct pooling *pooling, struct kiln_map *map)
{
    const struct kiln_resample *resample = pooling->resample;
    int64_t sizes[KILN_MAX_RANK]; /* from the right */
    begin_map(pooling->result, map, sizes);
    for (uint32_t i = resample->spatial_count; i-- > 0;) {
        uint8_t axis = (uint8_t)(pooling->result->rank - 1 - (SPATIAL_AXIS + i));
        bool is_one = sizes[axis] == 1 && !pooling->ir->is_general;
        map->axes[axis].step = kiln_constant_number(is_one ? 1 : resample->stride[i]);
        map->windows[map->window_count++] = (struct kiln_map_window){
            .over = axis,
            .size = kiln_constant_number(pooling->image->dims[SPATIAL_AXIS + i]),
            .offset = kiln_constant_number(-resample->pre_padding[i]),
            .divisor = kiln_constant_number(1),
        };
    }
    return append_taps(pooling, map, sizes, pooling->result, 1);
}

/* The results whose windows have an element of the image: result = (image + pre_padding - tap) /
 * stride. A single one is told from others by any stride that leaves the window. */
static struct kiln_reduced_windows find_results(const struct pooling *pooling, struct kiln_map *map)
{
    const struct kiln_resample *resample = pooling->resample;
    int64_t sizes[KILN_MAX_RANK]; /* from the right */
    begin_map(pooling->image, map, sizes);
    for (uint32_t i = resample->spatial_count; i-- > 0;) {
        int64_t size = pooling->result->dims[SPATIAL_AXIS + i];
        bool is_one = size == 1 && !pooling->ir->is_general;
        map->windows[map->window_count++] = (struct kiln_map_window){
            .over = (uint8_t)(pooling->image->rank - 1 - (SPATIAL_AXIS + i)),
            .size = kiln_constant_number(size),
            .offset = kiln_constant_number(resample->pre_padding[i]),
            .divisor = kiln_constant_number(is_one ? resample->window[i] : resample->stride[i]),
        };
    }
    return append_taps(pooling, map, sizes, pooling->image, -1);
}

/* The row-major number of each element within its image. */
static uint32_t image_position(const struct pooling *pooling)
{
    struct kiln_ir *ir = pooling->ir;
    uint32_t position = integer(pooling, 0);
    for (uint32_t i = 0; i < pooling->resample->spatial_count; i++) {
        int64_t size = pooling->image->dims[SPATIAL_AXIS + i];
        position = kiln_ir_binary(ir, KILN_OP_MUL, position, integer(pooling, size));
        position =
            kiln_ir_binary(ir, KILN_OP_ADD, position, spatial_index(pooling, pooling->image, i));
    }
    return position;
}

/* The count as a sum of ones, for general kernels: they have no size as a constant. */
static uint32_t sum_ones(const struct pooling *pooling)
{
    struct kiln_ir *ir = pooling->ir;
    struct kiln_map map;
    const struct kiln_reduced_windows windows = find_windows(pooling, &map);
    uint32_t one = kiln_ir_broadcast(ir, integer(pooling, 1), domain_of(pooling, pooling->image));
    return kiln_ir_reduce_windows(ir, KILN_OP_REDUCE_SUM, &one, &windows);
}

/* The value of each result by the elements of the image in its window, at least 1. */
static uint32_t divide_by_elements(const struct pooling *pooling, uint32_t value)
{
    struct kiln_ir *ir = pooling->ir;
    uint32_t count = ir->is_general ? sum_ones(pooling) : count_elements(pooling);
    count = kiln_ir_binary(ir, KILN_OP_MAX, count, integer(pooling, 1));
    count = kiln_ir_convert(ir, count, pooling->scalar);
    return kiln_ir_binary(ir, KILN_OP_MUL, value, kiln_ir_unary(ir, KILN_OP_RCP, count));
}

/* ---- forward ---- */

/* Without an index, or with one: KILN_NONE then and now. */
struct pooled {
    uint32_t value;
    uint32_t index;
};

static uint32_t image_domain(const struct pooling *pooling)
{
    uint32_t axes = ((1u << pooling->resample->spatial_count) - 1) << SPATIAL_AXIS;
    return kiln_ir_tensor_rows(pooling->ir, pooling->image, axes);
}

/* A REDUCE of whole images, unless these have one element. */
static uint32_t reduce_image(const struct pooling *pooling, enum kiln_opcode opcode, uint32_t x)
{
    uint32_t domain = image_domain(pooling);
    if (pooling->ir->failed || pooling->ir->ops[x].domain == domain)
        return x;
    return kiln_ir_reduce(pooling->ir, opcode, x, domain);
}

/* The first position of the largest number of whole images. */
static uint32_t position_in_image(const struct pooling *pooling, uint32_t x, uint32_t largest)
{
    struct kiln_ir *ir = pooling->ir;
    if (ir->failed)
        return KILN_NONE;
    uint32_t domain = domain_of(pooling, pooling->image);
    uint32_t is_largest =
        kiln_ir_binary(ir, KILN_OP_CMP_EQ, x, kiln_ir_broadcast(ir, largest, domain));
    uint32_t position =
        kiln_ir_select(ir, is_largest, image_position(pooling), integer(pooling, INT32_MAX));
    position = kiln_ir_broadcast(ir, position, domain);
    return reduce_image(pooling, KILN_OP_REDUCE_MIN, position);
}

/* An ordinary REDUCE_MAX keeps NaN, so NaN is replaced before it. */
static struct pooled maximum_of_image(const struct pooling *pooling, uint32_t x)
{
    x = at_least(pooling->ir, x, real(pooling, lowest(pooling)));
    struct pooled pooled = {reduce_image(pooling, KILN_OP_REDUCE_MAX, x), KILN_NONE};
    if (has_index(pooling))
        pooled.index = position_in_image(pooling, x, pooled.value);
    return pooled;
}

static struct pooled maximum_of_windows(const struct pooling *pooling, uint32_t x)
{
    struct kiln_map map;
    struct kiln_reduced_windows windows = find_windows(pooling, &map);
    windows.padding.real =
        pooling->resample->pads_zeros && reaches_padding(pooling) ? 0 : -(double)INFINITY;
    struct pooled pooled = {
        kiln_ir_reduce_windows(pooling->ir, KILN_OP_REDUCE_MAX_NUMBER, &x, &windows), KILN_NONE};
    if (has_index(pooling))
        pooled.index = kiln_ir_reduce_windows(pooling->ir, KILN_OP_REDUCE_ARGMAX, &x, &windows);
    return pooled;
}

/* Only a number above the lowest one has an index. */
static struct pooled find_maximum(const struct pooling *pooling, uint32_t x)
{
    struct kiln_ir *ir = pooling->ir;
    bool has_zeros = pooling->resample->pads_zeros && reaches_padding(pooling);
    /* General kernels do not know if windows reach padding: that depends on sizes. */
    bool is_image = holds_image(pooling) && !(has_zeros && (has_index(pooling) || ir->is_general));
    struct pooled pooled = is_image ? maximum_of_image(pooling, x) : maximum_of_windows(pooling, x);
    uint32_t least = real(pooling, lowest(pooling));
    if (has_index(pooling))
        pooled.index = kiln_ir_select(ir, kiln_ir_binary(ir, KILN_OP_CMP_GT, pooled.value, least),
                                      pooled.index, integer(pooling, -1));
    pooled.value = at_least(ir, pooled.value, is_image && has_zeros ? real(pooling, 0) : least);
    return pooled;
}

static uint32_t find_mean(const struct pooling *pooling, uint32_t x)
{
    struct kiln_ir *ir = pooling->ir;
    int64_t taps = count_taps(pooling);
    if (holds_image(pooling)) {
        if (pooling->resample->mode == KILN_POOLING_MEAN_OF_IMAGE) {
            taps = 1;
            for (uint32_t i = 0; i < pooling->resample->spatial_count; i++)
                taps *= pooling->image->dims[SPATIAL_AXIS + i];
        }
        return kiln_import_divide(ir, reduce_image(pooling, KILN_OP_REDUCE_SUM, x), taps);
    }
    struct kiln_map map;
    struct kiln_reduced_windows windows = find_windows(pooling, &map);
    uint32_t sum = kiln_ir_reduce_windows(ir, KILN_OP_REDUCE_SUM, &x, &windows);
    if (!counts_elements(pooling))
        return kiln_import_divide(ir, sum, taps);
    return divide_by_elements(pooling, sum);
}

void kiln_import_resample(struct kiln_importer *importer, const struct kiln_node *node)
{
    const struct pooling pooling = view(importer, node);
    uint32_t index = kiln_node_output(node, KILN_OPERAND_INDEX);
    uint32_t x = operand(&pooling, node->inputs[0]);
    struct pooled pooled = {KILN_NONE, KILN_NONE};
    if (node->resample.mode == KILN_POOLING_MAX)
        pooled = find_maximum(&pooling, x);
    else
        pooled = (struct pooled){find_mean(&pooling, x), integer(&pooling, -1)};
    kiln_importer_define(importer, node->outputs[0], pooled.value);
    if (index != KILN_NONE)
        kiln_importer_define(importer, index, pooled.index);
}

/* ---- backward ---- */

/* The gradient of each result by its divisor, if these differ. */
static uint32_t divide_each(const struct pooling *pooling, uint32_t dy)
{
    return counts_elements(pooling) ? divide_by_elements(pooling, dy) : dy;
}

/* The sum of gradients by their divisor, if it is one. */
static uint32_t divide_sum(const struct pooling *pooling, uint32_t sum)
{
    bool is_mean = pooling->resample->mode != KILN_POOLING_MAX;
    return is_mean && !counts_elements(pooling)
               ? kiln_import_divide(pooling->ir, sum, count_taps(pooling))
               : sum;
}

/* Each element of the image is in the window of one result, the same for all. */
static uint32_t repeat_result(const struct pooling *pooling, uint32_t dy, uint32_t index)
{
    struct kiln_ir *ir = pooling->ir;
    uint32_t domain = domain_of(pooling, pooling->image);
    dy = kiln_ir_broadcast(ir, divide_sum(pooling, divide_each(pooling, dy)), domain);
    if (index == KILN_NONE)
        return dy;
    uint32_t is_here = kiln_ir_binary(ir, KILN_OP_CMP_EQ, kiln_ir_broadcast(ir, index, domain),
                                      image_position(pooling));
    return kiln_ir_select(ir, is_here, dy, real(pooling, 0));
}

static uint32_t sum_results(const struct pooling *pooling, uint32_t dy, uint32_t index)
{
    struct kiln_map map;
    const struct kiln_reduced_windows windows = find_results(pooling, &map);
    enum kiln_opcode opcode = index != KILN_NONE ? KILN_OP_REDUCE_SUM_AT : KILN_OP_REDUCE_SUM;
    const uint32_t operands[] = {divide_each(pooling, dy), index};
    return divide_sum(pooling, kiln_ir_reduce_windows(pooling->ir, opcode, operands, &windows));
}

void kiln_import_resample_backward(struct kiln_importer *importer, const struct kiln_node *node)
{
    const struct pooling pooling = view(importer, node);
    uint32_t tensor = kiln_node_input(node, KILN_OPERAND_INDEX);
    uint32_t dy = operand(&pooling, node->inputs[0]);
    uint32_t index = KILN_NONE;
    if (tensor != KILN_NONE)
        index =
            kiln_ir_convert(importer->ir, kiln_importer_value(importer, tensor), KILN_SCALAR_I32);
    uint32_t dx = holds_image(&pooling) ? repeat_result(&pooling, dy, index)
                                        : sum_results(&pooling, dy, index);
    kiln_importer_define(importer, node->outputs[0], dx);
}
