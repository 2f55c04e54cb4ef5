#include "tests/compiler/ir/ir_interpreter.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/ragged_memory.h"

#include <math.h>
#include <string.h>

#include "tests/compiler/ir/interpreter_elements.h"
#include "tests/compiler/ir/interpreter_groups.h"

struct machine {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    void *const *memory;
    enum kiln_interpreter_math math;
    struct kiln_arena *arena;
    struct kiln_constant **values; /* per operation, row-major over its domain */
};

/* Position of element `n` of `to` in `from`, right-aligned. */
static int64_t broadcast_position(const struct kiln_domain *from, const struct kiln_domain *to,
                                  int64_t n)
{
    int64_t position = 0, stride = 1;
    for (uint32_t i = 1; i <= from->rank; i++) {
        int64_t coordinate = n % to->dims[to->rank - i];
        n /= to->dims[to->rank - i];
        int64_t dim = from->dims[from->rank - i];
        if (dim != 1)
            position += coordinate * stride;
        stride *= dim;
    }
    return position;
}

/* What a walk over elements knows: their count, mean, sum of squared deviations; for other
 * reductions `total` alone. */
struct accumulator {
    double count, mean, squares;
    struct kiln_constant total;
};

static double to_scalar(enum kiln_scalar scalar, double value)
{
    return scalar == KILN_SCALAR_F32 ? (double)(float)value : value;
}

static struct kiln_constant combine(const struct machine *machine, const struct kiln_op *op,
                                    struct kiln_constant a, struct kiln_constant b)
{
    enum kiln_opcode opcode = op->opcode == KILN_OP_REDUCE_PRODUCT      ? KILN_OP_MUL
                              : op->opcode == KILN_OP_REDUCE_MIN        ? KILN_OP_MIN
                              : op->opcode == KILN_OP_REDUCE_MAX        ? KILN_OP_MAX
                              : op->opcode == KILN_OP_REDUCE_MAX_NUMBER ? KILN_OP_MAX
                              : op->opcode == KILN_OP_SCORE_MAX         ? KILN_OP_MAX
                                                                        : KILN_OP_ADD;
    if (op->opcode == KILN_OP_REDUCE_MAX_NUMBER && (isnan(a.real) || isnan(b.real)))
        return isnan(a.real) ? b : a;
    if (op->opcode == KILN_OP_REDUCE_ARGMAX)
        return b.real > a.real || isnan(a.real) ? b : a;
    if (kiln_interpreter_is_float(op->scalar))
        return (struct kiln_constant){
            .real = kiln_interpreter_real(machine->math, opcode, op->scalar, a.real, b.real)};
    return (struct kiln_constant){
        .integer = kiln_interpreter_integer(opcode, op->scalar, a.integer, b.integer)};
}

static bool is_moment(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_REDUCE_MEAN || op->opcode == KILN_OP_REDUCE_SQUARES;
}

/* Chan's merge; with a `b` of one element it is Welford's update. */
static struct accumulator merge(const struct machine *machine, const struct kiln_op *op,
                                struct accumulator a, struct accumulator b)
{
    if (!is_moment(op)) {
        a.total = combine(machine, op, a.total, b.total);
        return a;
    }
    enum kiln_scalar scalar = op->scalar;
    double count = a.count + b.count;
    double delta = to_scalar(scalar, b.mean - a.mean);
    double step = to_scalar(scalar, delta * to_scalar(scalar, b.count / count));
    double square = to_scalar(scalar, to_scalar(scalar, delta * step) * a.count);
    return (struct accumulator){
        .count = count,
        .mean = to_scalar(scalar, a.mean + step),
        .squares = to_scalar(scalar, to_scalar(scalar, a.squares + b.squares) + square)};
}

/* In order, or as a balanced tree for NOISY. */
static struct accumulator accumulate(const struct machine *machine, const struct kiln_op *op,
                                     const struct kiln_constant *elements, int64_t count)
{
    struct accumulator first = {.count = 1, .mean = elements[0].real, .total = elements[0]};
    /* The deviation of one element from itself: NaN when it is not finite. */
    first.squares = is_moment(op) ? elements[0].real - elements[0].real : 0;
    if (count == 1)
        return first;
    if (machine->math == KILN_MATH_NOISY)
        return merge(machine, op, accumulate(machine, op, elements, count / 2),
                     accumulate(machine, op, elements + count / 2, count - count / 2));
    for (int64_t n = 1; n < count; n++) {
        struct accumulator next = {.count = 1, .mean = elements[n].real, .total = elements[n]};
        first = merge(machine, op, first, next);
    }
    return first;
}

/* Attention in segments: the first one has all columns here. */
static struct kiln_domain segment_domain(const struct kiln_op *op, const struct kiln_domain *domain,
                                         uint32_t rank)
{
    bool is_attention = kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_ATTENTION;
    return is_attention ? kiln_domain_of_segment(domain, rank) : *domain;
}

/* The position of the element that a map gives a point; -1 in padding. */
static int64_t mapped_position(const struct kiln_map *map, const int64_t *point,
                               const struct kiln_domain *source)
{
    int64_t position = 0;
    int64_t stride = 1;
    for (uint8_t axis = 0; axis < KILN_MAX_RANK; axis++) {
        int64_t at;
        if (!kiln_map_locate(map, point, axis, &at))
            return -1;
        position += at * stride;
        stride *= axis < source->rank ? source->dims[source->rank - 1 - axis] : 1;
    }
    return position;
}

/* The position among windows that a map has for a point. */
static int64_t position_of(const struct kiln_map *map, const int64_t *point, const int64_t *steps)
{
    int64_t position = 0;
    for (uint32_t i = 0; i < map->window_count; i++) {
        int64_t at;
        if (!kiln_map_locate(map, point, map->windows[i].over, &at))
            return -1;
        position += at * steps[i];
    }
    return position;
}

/* The position of the result that a point belongs to. */
static int64_t position_of_result(const struct machine *machine, const struct kiln_op *op,
                                  const int64_t *point)
{
    const struct kiln_map *map = &machine->ir->maps[op->map];
    int64_t steps[KILN_MAP_MAX_WINDOWS];
    int64_t position = 0;
    kiln_ir_point_steps(machine->ir, op, steps);
    for (uint32_t i = 0; i < map->window_count; i++) {
        for (uint32_t axis = 0; axis < machine->ir->domains[op->domain].rank; axis++)
            position += map->axes[axis].along == map->windows[i].over ? point[axis] * steps[i] : 0;
    }
    return position;
}

/* The element at a point of a reduction through a map; of an ARGMAX with its position. */
static struct kiln_constant mapped_element(const struct machine *machine, const struct kiln_op *op,
                                           const int64_t *point)
{
    const struct kiln_map *map = &machine->ir->maps[op->map];
    const struct kiln_domain *source =
        &machine->ir->domains[machine->ir->ops[op->operands[0]].domain];
    int64_t at = mapped_position(map, point, source);
    struct kiln_constant element = at < 0 ? op->constant : machine->values[op->operands[0]][at];
    if (op->opcode == KILN_OP_REDUCE_ARGMAX) {
        int64_t steps[KILN_MAP_MAX_WINDOWS];
        kiln_ir_element_steps(machine->ir, op, steps);
        element.integer = position_of(map, point, steps);
    }
    if (op->opcode == KILN_OP_REDUCE_SUM_AT && at >= 0 &&
        machine->values[op->operands[1]][at].integer != position_of_result(machine, op, point))
        element.real = 0;
    return element;
}

/* The coordinates of point number `n`, from the right. */
static void find_point(const struct kiln_domain *iteration, int64_t n,
                       int64_t ret_point[KILN_MAX_RANK])
{
    for (uint32_t i = 0; i < KILN_MAX_RANK; i++) {
        int64_t size = i < iteration->rank ? iteration->dims[iteration->rank - 1 - i] : 1;
        ret_point[i] = n % size;
        n /= size;
    }
}

/* The element for point number `n` of a reduction. */
static struct kiln_constant reduced_element(const struct machine *machine, const struct kiln_op *op,
                                            const struct kiln_domain *iteration, int64_t n)
{
    int64_t point[KILN_MAX_RANK];
    if (op->map == KILN_NONE)
        return machine->values[op->operands[0]][n];
    find_point(iteration, n, point);
    return mapped_element(machine, op, point);
}

/* The position of the element that is repeated at point number `n`. */
static int64_t repeated_position(const struct machine *machine, const struct kiln_op *op,
                                 const struct kiln_domain *source, int64_t n)
{
    int64_t point[KILN_MAX_RANK];
    find_point(&machine->ir->domains[op->domain], n, point);
    return mapped_position(&machine->ir->maps[op->map], point, source);
}

/* `elements` of the result. False when memory is out. */
static bool run_reduction(struct machine *machine, const struct kiln_op *op,
                          struct kiln_constant *result, int64_t elements)
{
    const struct kiln_domain *from = &machine->ir->domains[kiln_ir_iteration(machine->ir, op)];
    const struct kiln_domain rows_of =
        segment_domain(op, &machine->ir->domains[op->domain], from->rank);
    const struct kiln_domain *to = &rows_of;
    int64_t total = kiln_domain_elements(from), count = total / elements;
    /* The elements of each row, together and in order. */
    struct kiln_constant *rows = kiln_arena_calloc(machine->arena, (size_t)total, sizeof *rows);
    int64_t *filled = kiln_arena_calloc(machine->arena, (size_t)elements, sizeof *filled);
    if (rows == NULL || filled == NULL)
        return false;
    for (int64_t n = 0; n < total; n++) {
        int64_t row = broadcast_position(to, from, n);
        rows[row * count + filled[row]++] = reduced_element(machine, op, from, n);
    }
    for (int64_t row = 0; row < elements; row++) {
        struct accumulator sum = accumulate(machine, op, &rows[row * count], filled[row]);
        if (op->opcode == KILN_OP_REDUCE_MEAN)
            result[row].real = sum.mean;
        else if (op->opcode == KILN_OP_REDUCE_SQUARES)
            result[row].real = sum.squares;
        else
            result[row] = sum.total;
        if (op->opcode == KILN_OP_REDUCE_ARGMAX && !(sum.total.real > -INFINITY))
            result[row].integer = -1;
    }
    return true;
}

/* The index on every axis that the result has: of several that go along one axis of it, the one
 * with the longest steps counts first. */
static void result_index(const struct kiln_contraction *contraction,
                         const struct kiln_domain *domain, int64_t n, int64_t *ret_index)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_map_axis *axis = &contraction->maps[KILN_CONTRACT_RESULT].axes[i];
        int64_t rest = n;
        if (axis->along == KILN_NO_AXIS || axis->along >= domain->rank)
            continue;
        for (uint32_t j = 0; j < axis->along; j++)
            rest /= domain->dims[domain->rank - 1 - j];
        rest %= domain->dims[domain->rank - 1 - axis->along];
        ret_index[i] = rest / axis->step.value % contraction->sizes[i];
    }
}

static struct kiln_interpreter_routes find_routes(const struct machine *machine,
                                                  const struct kiln_op *op)
{
    struct kiln_interpreter_routes routes = {.tokens = 1};
    const struct kiln_constant **content[] = {&routes.offsets, &routes.index, &routes.ks};
    const struct kiln_op *ops = machine->ir->ops;
    const struct kiln_domain *left = &machine->ir->domains[ops[op->operands[0]].domain];
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    for (uint32_t i = KILN_CONTRACT_RESULT; i < arity; i++)
        *content[i - KILN_CONTRACT_RESULT] = machine->values[op->operands[i]];
    if (arity > KILN_CONTRACT_RESULT)
        routes.groups = kiln_domain_elements(
            &machine->ir->domains[ops[op->operands[KILN_CONTRACT_RESULT]].domain]);
    if (left->rank >= 2)
        routes.tokens = left->dims[left->rank - 2];
    return routes;
}

static void run_contraction(struct machine *machine, const struct kiln_op *op,
                            struct kiln_constant *result, int64_t elements)
{
    const struct kiln_contraction *contraction = &machine->ir->contractions[op->contraction];
    const struct kiln_domain *domains = machine->ir->domains;
    const struct kiln_domain *domain = &domains[op->domain];
    const struct kiln_domain *left = &domains[machine->ir->ops[op->operands[0]].domain];
    const struct kiln_domain *right = &domains[machine->ir->ops[op->operands[1]].domain];
    const struct kiln_interpreter_routes routes = find_routes(machine, op);
    for (int64_t n = 0; n < elements; n++) {
        int64_t index[KILN_CONTRACTION_MAX_AXES] = {0}, first, size;
        result_index(contraction, domain, n, index);
        struct kiln_constant sum = {0};
        if (!kiln_interpreter_route(contraction, &routes, index, &first, &size))
            size = 0;
        for (int64_t k = 0; k < size; k++) {
            int64_t rest = first + k;
            for (uint32_t i = contraction->axis_count; i-- > 0;) {
                if (contraction->roles[i] != KILN_AXIS_K)
                    continue;
                index[i] = rest % contraction->sizes[i];
                rest /= contraction->sizes[i];
            }
            int64_t at_a = mapped_position(&contraction->maps[KILN_CONTRACT_LEFT], index, left);
            int64_t at_b = mapped_position(&contraction->maps[KILN_CONTRACT_RIGHT], index, right);
            if (at_a < 0 || at_b < 0)
                continue;
            struct kiln_constant a = machine->values[op->operands[0]][at_a];
            struct kiln_constant b = machine->values[op->operands[1]][at_b];
            if (kiln_interpreter_is_float(op->scalar))
                sum.real = to_scalar(op->scalar, sum.real + to_scalar(op->scalar, a.real * b.real));
            else
                sum.integer = kiln_interpreter_integer(
                    KILN_OP_ADD, op->scalar, sum.integer,
                    kiln_interpreter_integer(KILN_OP_MUL, op->scalar, a.integer, b.integer));
        }
        result[n] = sum;
    }
}

/* The lengths of a ragged tensor, or where its batches lie; NULL without memory. */
static struct kiln_span *spans_of(const struct machine *machine, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &machine->graph->tensors[ordinal];
    struct kiln_span *spans =
        kiln_arena_calloc(machine->ir->arena, (size_t)tensor->dims[0], sizeof *spans);
    if (spans != NULL)
        kiln_ragged_read_spans(machine->graph, ordinal, machine->memory[tensor->ragged.offsets],
                               spans);
    return spans;
}

static bool is_present(const struct kiln_tensor *tensor, const struct kiln_span *spans, int64_t n)
{
    return spans == NULL || kiln_ragged_place(tensor, spans, n) >= 0;
}

static int64_t memory_position(const struct kiln_tensor *tensor, const struct kiln_span *spans,
                               int64_t n)
{
    int64_t offset = 0;
    if (spans != NULL)
        return kiln_ragged_place(tensor, spans, n);
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        offset += n % tensor->dims[axis] * tensor->strides[axis];
        n /= tensor->dims[axis];
    }
    return offset;
}

static int64_t coordinate(const struct kiln_domain *domain, uint32_t axis, int64_t n)
{
    for (uint32_t i = domain->rank - 1; i > axis; i--)
        n /= domain->dims[i];
    return n % domain->dims[axis];
}

/* The number of a point's element in the shape without a short last block; beyond the end the last
 * one of its block. */
static int64_t element_of_point(const struct kiln_domain *domain, int64_t n)
{
    int64_t inside = 1; /* points of the axes after those of blocks */
    if (domain->end == 0)
        return n;
    uint32_t elements = domain->rank - 1 - domain->block_axis;
    for (uint32_t i = elements + 1; i < domain->rank; i++)
        inside *= domain->dims[i];
    int64_t padded = domain->dims[elements] * domain->dims[elements - 1];
    int64_t at = n / inside % padded;
    at = at < domain->end ? at : domain->end - 1;
    return (n / inside / padded * domain->end + at) * inside + n % inside;
}

static int64_t point_of_element(const struct kiln_domain *domain, int64_t n)
{
    int64_t inside = 1;
    if (domain->end == 0)
        return n;
    uint32_t elements = domain->rank - 1 - domain->block_axis;
    for (uint32_t i = elements + 1; i < domain->rank; i++)
        inside *= domain->dims[i];
    int64_t padded = domain->dims[elements] * domain->dims[elements - 1];
    return (n / inside / domain->end * padded + n / inside % domain->end) * inside + n % inside;
}

static void run_operation(struct machine *machine, uint32_t index, int64_t elements)
{
    const struct kiln_op *op = &machine->ir->ops[index];
    const struct kiln_domain *domain = &machine->ir->domains[op->domain];
    struct kiln_constant *result = machine->values[index];
    bool has_memory = kiln_op_is_load(op) || op->opcode == KILN_OP_STORE;
    unsigned char *bytes = has_memory ? machine->memory[op->tensor] : NULL;
    const struct kiln_tensor *tensor =
        op->tensor != KILN_NONE ? &machine->graph->tensors[op->tensor] : NULL;
    const struct kiln_span *spans = NULL;
    if (has_memory && kiln_tensor_is_ragged(tensor))
        spans = spans_of(machine, op->tensor);
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    for (int64_t n = 0; n < elements; n++) {
        struct kiln_constant x[KILN_IR_MAX_OPERANDS] = {{0}};
        for (uint32_t i = 0; i < arity; i++) {
            const struct kiln_domain from = segment_domain(
                op, &machine->ir->domains[machine->ir->ops[op->operands[i]].domain], domain->rank);
            int64_t at = op->opcode == KILN_OP_VIEW
                             ? point_of_element(&from, element_of_point(domain, n))
                         : op->opcode == KILN_OP_REPEAT ? repeated_position(machine, op, &from, n)
                                                        : broadcast_position(&from, domain, n);
            x[i] = machine->values[op->operands[i]][at];
        }
        switch (kiln_opcode_info(op->opcode)->op_class) {
        case KILN_OP_CLASS_SINK:
            if (is_present(tensor, spans, n))
                kiln_element_store_at(tensor->dtype, x[0], bytes,
                                      memory_position(tensor, spans, element_of_point(domain, n)));
            break;
        case KILN_OP_CLASS_BROADCAST:
        case KILN_OP_CLASS_VIEW:
            result[n] = x[0];
            break;
        case KILN_OP_CLASS_CONTRACT: /* run_contraction */
        case KILN_OP_CLASS_REDUCE:   /* run_reduction */
        case KILN_OP_CLASS_MAPPED_REDUCE:
            break;
        case KILN_OP_CLASS_ATTENTION: /* others of it: as above */
            x[1].real = kiln_interpreter_real(machine->math, KILN_OP_SUB, op->scalar, x[0].real,
                                              isinf(x[1].real) && x[1].real < 0 ? 0 : x[1].real);
            result[n].real =
                kiln_interpreter_real(machine->math, KILN_OP_EXP, op->scalar, x[1].real, 0);
            break;
        case KILN_OP_CLASS_ELEMENTWISE:
            result[n] = kiln_interpreter_element(machine->math, op,
                                                 machine->ir->ops[op->operands[0]].scalar, x);
            break;
        case KILN_OP_CLASS_SOURCE:
            if (op->opcode == KILN_OP_LENGTH)
                result[n].integer = spans[n].length;
            else if (op->opcode == KILN_OP_LOAD && !is_present(tensor, spans, n))
                result[n] = (struct kiln_constant){0};
            else if (op->opcode == KILN_OP_LOAD)
                result[n] = kiln_element_load_at(
                    tensor->dtype, bytes,
                    memory_position(tensor, spans, element_of_point(domain, n)));
            else if (op->opcode == KILN_OP_INDEX)
                result[n].integer = coordinate(domain, op->axis, n);
            else
                result[n] = op->constant;
            break;
        }
    }
}

/* How many elements the first segment has; others have no column. */
static int64_t fill_other_segments(const struct kiln_ir *ir, const struct kiln_op *op,
                                   struct kiln_constant *result, int64_t elements)
{
    bool is_cut = op->opcode == KILN_OP_ATTEND || op->opcode == KILN_OP_SCORE_MAX ||
                  op->opcode == KILN_OP_SCORE_SUM;
    if (!is_cut || op->kernel != 0 ||
        ir->domains[op->domain].rank != ir->domains[ir->ops[op->operands[0]].domain].rank + 1)
        return elements;
    int64_t first = elements / ir->domains[op->domain].dims[0];
    for (int64_t n = first; n < elements; n++)
        result[n].real = op->opcode == KILN_OP_SCORE_MAX ? -INFINITY : 0;
    return first;
}

enum kiln_status kiln_ir_interpret(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                   void *const *memory, enum kiln_interpreter_math math,
                                   struct kiln_arena *arena, struct kiln_error *error)
{
    struct machine machine = {
        .ir = ir, .graph = graph, .memory = memory, .math = math, .arena = arena};
    machine.values = kiln_arena_calloc(arena, ir->op_count, sizeof *machine.values);
    for (uint32_t i = 0; machine.values != NULL && i < ir->op_count; i++) {
        int64_t elements = kiln_domain_elements(&ir->domains[ir->ops[i].domain]);
        machine.values[i] = kiln_arena_calloc(arena, (size_t)elements, sizeof **machine.values);
        if (machine.values[i] == NULL)
            return kiln_error_set(error, KILN_NO_MEMORY, "no memory to interpret the program");
        elements = fill_other_segments(ir, &ir->ops[i], machine.values[i], elements);
        if (kiln_opcode_contracts(ir->ops[i].opcode)) {
            run_contraction(&machine, &ir->ops[i], machine.values[i], elements);
            continue;
        }
        bool reduces = kiln_opcode_info(ir->ops[i].opcode)->op_class == KILN_OP_CLASS_REDUCE ||
                       ir->ops[i].opcode == KILN_OP_SCORE_MAX ||
                       ir->ops[i].opcode == KILN_OP_SCORE_SUM ||
                       ir->ops[i].opcode == KILN_OP_SCORE_FOLD;
        if (!reduces)
            run_operation(&machine, i, elements);
        else if (!run_reduction(&machine, &ir->ops[i], machine.values[i], elements))
            return kiln_error_set(error, KILN_NO_MEMORY, "no memory to interpret the program");
    }
    return machine.values != NULL
               ? KILN_OK
               : kiln_error_set(error, KILN_NO_MEMORY, "no memory to interpret the program");
}
