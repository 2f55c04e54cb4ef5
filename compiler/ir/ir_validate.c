/*
 * The validator trusts nothing but the arrays' lengths: every index is checked before it is used,
 * and checks that need a sound operand are skipped where the operand was found faulty, so that one
 * defect gives one line.
 */
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/ir.h"
#include "compiler/reference/convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct validator {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    struct kiln_buffer *faults;
    uint32_t index; /* of the operation under test */
    const struct kiln_op *op;
    const struct kiln_opcode_info *info;
    uint32_t *sets;         /* exact types of the values so far */
    uint32_t *store_counts; /* per tensor */
    uint32_t fault_count;
};

static void fault(struct validator *validator, const char *format, ...) KILN_PRINTF(2, 3);

static void fault(struct validator *validator, const char *format, ...)
{
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    validator->fault_count++;
    kiln_buffer_printf(validator->faults, "%%%" PRIu32 " %s: %s\n", validator->index,
                       validator->info != NULL ? validator->info->text : "?", text);
}

static const struct kiln_op *operand(const struct validator *validator, uint32_t i)
{
    return &validator->ir->ops[validator->op->operands[i]];
}

static bool is_float(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_F32 || scalar == KILN_SCALAR_F64;
}

static char scalar_letter(enum kiln_scalar scalar)
{
    return is_float(scalar) ? 'F' : scalar == KILN_SCALAR_BOOL ? 'B' : 'I';
}

static bool same_domain(const struct kiln_domain *a, const struct kiln_domain *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

static bool domain_is_of_tensor(const struct kiln_domain *domain, const struct kiln_tensor *tensor)
{
    const int64_t *dims = tensor->dims;
    uint32_t rank = tensor->rank;
    while (rank > 0 && dims[0] == 1) {
        dims++;
        rank--;
    }
    return domain->rank == rank && memcmp(domain->dims, dims, rank * sizeof *dims) == 0;
}

/* Opcode, types, domain and operands name things that exist. Everything else relies on it. */
static bool check_form(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    validator->info = NULL;
    if ((unsigned)op->opcode >= KILN_OP_COUNT) {
        fault(validator, "opcode %u does not exist", (unsigned)op->opcode);
        return false;
    }
    validator->info = kiln_opcode_info(op->opcode);
    bool sound = true;
    if ((unsigned)op->scalar >= KILN_SCALAR_COUNT) {
        fault(validator, "scalar type %u does not exist", (unsigned)op->scalar);
        sound = false;
    }
    if (op->domain >= validator->ir->domain_count) {
        fault(validator, "domain %" PRIu32 " does not exist", op->domain);
        sound = false;
    }
    for (uint32_t i = 0; i < KILN_IR_MAX_OPERANDS; i++) {
        uint32_t value = op->operands[i];
        if (i >= validator->info->arity) {
            if (value != KILN_NONE)
                fault(validator, "operand %" PRIu32 " is beyond the arity", i);
            continue;
        }
        if (value >= validator->index) {
            fault(validator, "operand %" PRIu32 " is not an earlier value", i);
            sound = false;
        } else if (validator->sets[value] == 0) { /* a store, or a value found faulty */
            if ((unsigned)validator->ir->ops[value].opcode >= KILN_OP_COUNT ||
                validator->ir->ops[value].opcode == KILN_OP_STORE)
                fault(validator, "operand %" PRIu32 " is not a value", i);
            sound = false;
        }
    }
    return sound;
}

static void check_allowed_scalar(struct validator *validator, enum kiln_scalar scalar)
{
    if (strchr(validator->info->scalars, scalar_letter(scalar)) == NULL)
        fault(validator, "type %s is not allowed", kiln_scalar_text(scalar));
}

static void check_round(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    if ((unsigned)op->dtype >= KILN_DTYPE_COUNT || op->dtype == KILN_DTYPE_BOOL)
        fault(validator, "can't round through type %u", (unsigned)op->dtype);
    else if (kiln_dtype_is_integer(op->dtype) == is_float(op->scalar))
        fault(validator, "can't round %s through %s", kiln_scalar_text(op->scalar),
              kiln_dtype_info(op->dtype)->text);
}

static void check_types(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    uint32_t first_equal = validator->info->rule == KILN_OP_RULE_SELECT ? 1 : 0;
    for (uint32_t i = first_equal; i < validator->info->arity; i++)
        check_allowed_scalar(validator, operand(validator, i)->scalar);
    for (uint32_t i = first_equal + 1; i < validator->info->arity; i++) {
        if (operand(validator, i)->scalar != operand(validator, first_equal)->scalar)
            fault(validator, "operands %" PRIu32 " and %" PRIu32 " differ in type", first_equal, i);
    }
    switch (validator->info->rule) {
    case KILN_OP_RULE_SELECT:
        if (operand(validator, 0)->scalar != KILN_SCALAR_BOOL)
            fault(validator, "the condition is not bool");
        if (op->scalar != operand(validator, 1)->scalar)
            fault(validator, "the result's type is not that of its operands");
        break;
    case KILN_OP_RULE_SAME:
    case KILN_OP_RULE_ROUND:
        if (op->scalar != operand(validator, 0)->scalar)
            fault(validator, "the result's type is not that of its operands");
        if (validator->info->rule == KILN_OP_RULE_ROUND)
            check_round(validator);
        break;
    case KILN_OP_RULE_COMPARE:
        if (op->scalar != KILN_SCALAR_BOOL)
            fault(validator, "the result of a comparison is not bool");
        break;
    case KILN_OP_RULE_CONVERT:
        if (op->scalar == operand(validator, 0)->scalar)
            fault(validator, "converts a type to itself");
        break;
    case KILN_OP_RULE_NONE:
        check_allowed_scalar(validator, op->scalar);
        break;
    }
}

static void check_domains(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    const struct kiln_domain *domains = validator->ir->domains;
    const struct kiln_domain *result = &domains[op->domain];
    if (validator->info->op_class == KILN_OP_CLASS_BROADCAST) {
        const struct kiln_domain *source = &domains[operand(validator, 0)->domain];
        if (same_domain(source, result) || !kiln_domain_broadcasts_to(source, result))
            fault(validator, "the operand can't be broadcast to the result's domain");
        return;
    }
    bool reduces_scores = op->opcode == KILN_OP_SCORE_MAX || op->opcode == KILN_OP_SCORE_SUM;
    if (reduces_scores || validator->info->op_class == KILN_OP_CLASS_REDUCE) {
        const struct kiln_domain *source = &domains[operand(validator, 0)->domain];
        const struct kiln_domain rows =
            reduces_scores ? kiln_domain_of_segment(result, source->rank) : *result;
        if (same_domain(source, &rows) || !kiln_domain_broadcasts_to(&rows, source))
            fault(validator, "the operand's domain can't be reduced to the result's");
        return;
    }
    if (op->opcode == KILN_OP_SCORE_FOLD) {
        const struct kiln_domain *source = &domains[operand(validator, 0)->domain];
        uint32_t rows_and_columns = source->rank < 2 ? ~0u : 3u << (source->rank - 2);
        bool is_fold = same_domain(source, result) || kiln_domain_broadcasts_to(result, source);
        if (!is_fold || (kiln_domain_reduced_axes(source, result) & rows_and_columns) != 0)
            fault(validator, "the scores can't be summed over batches to the result's domain");
    }
    if (op->opcode == KILN_OP_SCORE_EXP) {
        const struct kiln_domain rows =
            kiln_domain_of_segment(&domains[operand(validator, 1)->domain], result->rank);
        if (operand(validator, 0)->domain != op->domain ||
            !kiln_domain_broadcasts_to(&rows, result))
            fault(validator, "the scores' domain or that of their rows is another one");
    }
    if (validator->info->op_class != KILN_OP_CLASS_ELEMENTWISE)
        return;
    bool reaches_domain = result->rank == 0;
    for (uint32_t i = 0; i < validator->info->arity; i++) {
        uint32_t domain = operand(validator, i)->domain;
        if (domain == op->domain)
            reaches_domain = true;
        else if (domains[domain].rank != 0)
            fault(validator, "operand %" PRIu32 " has another domain", i);
    }
    if (!reaches_domain)
        fault(validator, "the domain is that of no operand");
}

/* The size along an axis counted from the right: 1 beyond the first. */
static int64_t size_from_right(const struct kiln_domain *domain, uint32_t axis)
{
    return axis < domain->rank ? domain->dims[domain->rank - 1 - axis] : 1;
}

/* What the axes of a contraction are to one domain, in their order. */
struct contraction_side {
    const char *name;
    const struct kiln_domain *domain;
    uint8_t axes[KILN_CONTRACTION_MAX_AXES];
    int64_t sizes[KILN_CONTRACTION_MAX_AXES];
    int64_t steps[KILN_CONTRACTION_MAX_AXES];
};

/* How many coordinates of a domain's axis the axes that go along it reach, from the first on, and
 * how many they name, each as often as they do. */
static void measure_reach(const struct contraction_side *side, uint32_t count, uint32_t axis,
                          int64_t *ret_reach, int64_t *ret_named)
{
    *ret_reach = *ret_named = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (side->axes[i] != axis)
            continue;
        *ret_reach += (side->sizes[i] - 1) * side->steps[i];
        *ret_named *= side->sizes[i];
    }
}

/* Whether the axes that go along one axis of a domain count it as digits do a number: each by
 * steps of what the finer ones count. */
static bool are_digits(const struct contraction_side *side, uint32_t count, uint32_t axis)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t finer = 1;
        for (uint32_t j = 0; j < count; j++) {
            bool is_finer =
                side->steps[j] < side->steps[i] || (side->steps[j] == side->steps[i] && j < i);
            finer *= side->axes[j] == axis && is_finer ? side->sizes[j] : 1;
        }
        if (side->axes[i] == axis && side->sizes[i] > 1 && side->steps[i] != finer)
            return false;
    }
    return true;
}

/* One domain's side of a contraction: each of its axes is named, and left only where there is a
 * window. The result is covered, without overlap. */
static void check_contraction_side(struct validator *validator,
                                   const struct kiln_contraction *contraction,
                                   const struct contraction_side *side, bool is_result,
                                   bool is_right)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (side->axes[i] == KILN_NO_AXIS)
            continue;
        if (side->axes[i] >= KILN_MAX_RANK) {
            fault(validator, "axis %" PRIu32 ": %s axis %u is out of range", i, side->name,
                  side->axes[i]);
            continue;
        }
        bool has_window = !is_result && kiln_contraction_window_over(contraction, is_right,
                                                                     side->axes[i]) != NULL;
        int64_t size = size_from_right(side->domain, side->axes[i]);
        int64_t reach;
        int64_t named;
        measure_reach(side, contraction->axis_count, side->axes[i], &reach, &named);
        if (!has_window && side->steps[i] < 1)
            fault(validator, "axis %" PRIu32 ": goes back along %s axis %u", i, side->name,
                  side->axes[i]);
        else if (!has_window && (reach > size || (is_result && named != size)))
            fault(validator,
                  "axis %" PRIu32 ": %s axis %u is of size %" PRId64 ", must be %" PRId64, i,
                  side->name, side->axes[i], size, is_result ? named : reach);
        else if (is_result && !are_digits(side, contraction->axis_count, side->axes[i]))
            fault(validator, "axis %" PRIu32 ": overlaps another one along %s axis %u", i,
                  side->name, side->axes[i]);
        seen |= UINT32_C(1) << side->axes[i];
    }
    for (uint32_t axis = 0; axis < side->domain->rank; axis++) {
        if (size_from_right(side->domain, axis) != 1 && (seen >> axis & 1) == 0)
            fault(validator, "%s axis %" PRIu32 " is missing", side->name, axis);
    }
}

static void check_windows(struct validator *validator, const struct kiln_contraction *contraction,
                          const struct contraction_side *side)
{
    for (uint32_t i = 0; i < contraction->window_count; i++) {
        const struct kiln_contraction_window *window = &contraction->windows[i];
        if (window->axis >= KILN_MAX_RANK || window->divisor < 1 ||
            window->size != size_from_right(side->domain, window->axis))
            fault(validator, "window %" PRIu32 " is not one of the %s operand", i, side->name);
    }
}

/* Whether an axis is in those of left, right and result that its role says. */
static bool is_of_its_role(const struct kiln_contraction_axis *axis)
{
    bool left = axis->left != KILN_NO_AXIS;
    bool right = axis->right != KILN_NO_AXIS;
    bool result = axis->result != KILN_NO_AXIS;
    bool repeats = axis->left_repeat != 1 || axis->right_repeat != 1;
    switch (axis->role) {
    case KILN_AXIS_BATCH:
        return result && (left || axis->left_repeat == 1) && (right || axis->right_repeat == 1);
    case KILN_AXIS_M:
        return left && !right && result && !repeats;
    case KILN_AXIS_N:
        return !left && right && result && !repeats;
    case KILN_AXIS_K:
        return left && right && !result && !repeats;
    case KILN_AXIS_ROLE_COUNT:
        break;
    }
    return false;
}

/* Whether a batch counts groups of what columns of the result are: a kernel may count it with them.
 */
static bool shares_columns(const struct kiln_contraction *contraction,
                           const struct kiln_contraction_axis *batch)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (axis->role == KILN_AXIS_N && axis->result == batch->result &&
            axis->result != KILN_NO_AXIS)
            return true;
    }
    return false;
}

/* Kernels have places for so many axes of a role. */
static void check_role_counts(struct validator *validator,
                              const struct kiln_contraction *contraction)
{
    static const char *const names[KILN_AXIS_ROLE_COUNT] = {"batches", "rows", "columns", "k"};
    uint32_t counts[KILN_AXIS_ROLE_COUNT] = {0};
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        counts[axis->role]++;
        if (axis->role == KILN_AXIS_BATCH && shares_columns(contraction, axis))
            counts[KILN_AXIS_N]++;
    }
    for (uint32_t role = 0; role < KILN_AXIS_ROLE_COUNT; role++) {
        uint32_t most = role == KILN_AXIS_BATCH ? KILN_CONTRACTION_MAX_BATCH_AXES
                                                : KILN_CONTRACTION_MAX_ROLE_AXES;
        if (counts[role] > most)
            fault(validator, "%" PRIu32 " axes of %s are more than %" PRIu32, counts[role],
                  names[role], most);
    }
}

static void check_contraction(struct validator *validator)
{
    const struct kiln_ir *ir = validator->ir;
    if (validator->op->contraction >= ir->contraction_count) {
        fault(validator, "contraction %" PRIu32 " does not exist", validator->op->contraction);
        return;
    }
    const struct kiln_contraction *contraction = &ir->contractions[validator->op->contraction];
    if (contraction->axis_count > KILN_CONTRACTION_MAX_AXES) {
        fault(validator, "%" PRIu32 " axes are too many", contraction->axis_count);
        return;
    }
    if (contraction->window_count > KILN_MAX_SPATIAL_AXES) {
        fault(validator, "%" PRIu32 " windows are too many", contraction->window_count);
        return;
    }
    struct contraction_side left = {.name = "left",
                                    .domain = &ir->domains[operand(validator, 0)->domain]};
    struct contraction_side right = {.name = "right",
                                     .domain = &ir->domains[operand(validator, 1)->domain]};
    const struct kiln_domain *whole = &ir->domains[validator->op->domain];
    const struct kiln_domain of_segment = kiln_domain_of_segment(whole, left.domain->rank);
    bool may_be_cut = validator->op->opcode == KILN_OP_ATTEND && validator->op->kernel == 0;
    struct contraction_side result = {.name = "result", .domain = may_be_cut ? &of_segment : whole};
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        bool divides = axis->size >= 1 && axis->left_repeat >= 1 && axis->right_repeat >= 1 &&
                       axis->size % axis->left_repeat == 0 && axis->size % axis->right_repeat == 0;
        if (!divides || !is_of_its_role(axis)) {
            fault(validator, "axis %" PRIu32 " is not one of its role", i);
            return;
        }
        left.axes[i] = axis->left;
        right.axes[i] = axis->right;
        result.axes[i] = axis->result;
        left.sizes[i] = axis->size / axis->left_repeat;
        right.sizes[i] = axis->size / axis->right_repeat;
        result.sizes[i] = axis->size;
        left.steps[i] = axis->left_step;
        right.steps[i] = axis->right_step;
        result.steps[i] = axis->result_step;
    }
    check_role_counts(validator, contraction);
    check_contraction_side(validator, contraction, &left, false, false);
    check_contraction_side(validator, contraction, &right, false, true);
    check_contraction_side(validator, contraction, &result, true, false);
    check_windows(validator, contraction, contraction->is_right_windowed ? &right : &left);
}

static void check_constant(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    int64_t integer = op->constant.integer;
    double real = op->constant.real;
    if (validator->ir->domains[op->domain].rank != 0)
        fault(validator, "a constant has a domain");
    if (op->scalar == KILN_SCALAR_BOOL && integer != 0 && integer != 1)
        fault(validator, "a bool is %" PRId64, integer);
    if (op->scalar == KILN_SCALAR_I32 && (integer < INT32_MIN || integer > INT32_MAX))
        fault(validator, "an i32 is %" PRId64, integer);
    if (op->scalar == KILN_SCALAR_F32 && !isnan(real) &&
        kiln_round_to_dtype(KILN_DTYPE_F32, real) != real)
        fault(validator, "%.17g is not an f32", real);
}

/* The tensor that the operation names has the value's type and shape and may be named here. */
static void check_tensor(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    if (op->tensor == KILN_NONE) {
        if (op->opcode == KILN_OP_LOAD || op->opcode == KILN_OP_STORE)
            fault(validator, "names no tensor");
        return;
    }
    if (op->tensor >= validator->graph->tensor_count) {
        fault(validator, "tensor %" PRIu32 " does not exist", op->tensor);
        return;
    }
    const struct kiln_tensor *tensor = &validator->graph->tensors[op->tensor];
    if (kiln_dtype_info(tensor->dtype)->scalar != op->scalar)
        fault(validator, "tensor %" PRIu32 " is %s", op->tensor,
              kiln_dtype_info(tensor->dtype)->text);
    if (!domain_is_of_tensor(&validator->ir->domains[op->domain], tensor))
        fault(validator, "tensor %" PRIu32 " has another shape", op->tensor);
    if (op->opcode == KILN_OP_LOAD) {
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_HOST_SCALAR)
            fault(validator, "tensor %" PRIu32 " is not an input", op->tensor);
    } else if (op->opcode == KILN_OP_STORE) {
        if (tensor->role != KILN_TENSOR_OUTPUT)
            fault(validator, "tensor %" PRIu32 " is not an output", op->tensor);
        validator->store_counts[op->tensor]++;
    } else if (tensor->role != KILN_TENSOR_OUTPUT && tensor->role != KILN_TENSOR_VIRTUAL) {
        fault(validator, "tensor %" PRIu32 " is not made by the graph", op->tensor);
    }
}

static void check_operation(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    check_types(validator);
    check_domains(validator);
    check_tensor(validator);
    if (op->opcode == KILN_OP_CONSTANT)
        check_constant(validator);
    if (kiln_opcode_contracts(op->opcode))
        check_contraction(validator);
    if (op->opcode == KILN_OP_INDEX && op->axis >= validator->ir->domains[op->domain].rank)
        fault(validator, "axis %" PRIu32 " is out of range", op->axis);
    if (op->opcode == KILN_OP_STORE && (operand(validator, 0)->scalar != op->scalar ||
                                        operand(validator, 0)->domain != op->domain))
        fault(validator, "the operand's type or domain is not that of the store");
}

/* Whether the value of a tensor was rounded to the tensor's type. */
static void check_exactness(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    if (op->tensor == KILN_NONE || op->opcode == KILN_OP_LOAD)
        return;
    uint32_t set = op->opcode == KILN_OP_STORE ? validator->sets[op->operands[0]]
                                               : validator->sets[validator->index];
    enum kiln_dtype dtype = validator->graph->tensors[op->tensor].dtype;
    if ((set & KILN_DTYPE_BIT(dtype)) == 0)
        fault(validator, "the value is not rounded to %s", kiln_dtype_info(dtype)->text);
}

static void check_domain_table(struct validator *validator)
{
    for (uint32_t i = 0; i < validator->ir->domain_count; i++) {
        const struct kiln_domain *domain = &validator->ir->domains[i];
        bool canonical =
            domain->rank <= KILN_MAX_RANK && (domain->rank == 0 || domain->dims[0] != 1);
        for (uint32_t axis = 0; canonical && axis < KILN_MAX_RANK; axis++)
            canonical = axis < domain->rank ? domain->dims[axis] >= 1 : domain->dims[axis] == 0;
        for (uint32_t j = 0; canonical && j < i; j++)
            canonical = !same_domain(domain, &validator->ir->domains[j]);
        if (!canonical) {
            validator->fault_count++;
            kiln_buffer_printf(validator->faults, "domain %" PRIu32 " is not canonical\n", i);
        }
    }
}

static void check_outputs(struct validator *validator)
{
    for (uint32_t i = 0; i < validator->graph->tensor_count; i++) {
        if (validator->graph->tensors[i].role == KILN_TENSOR_OUTPUT &&
            validator->store_counts[i] != 1) {
            validator->fault_count++;
            kiln_buffer_printf(validator->faults,
                               "output tensor %" PRIu32 " is stored %" PRIu32 " times\n", i,
                               validator->store_counts[i]);
        }
    }
}

bool kiln_ir_validate(const struct kiln_ir *ir, const struct kiln_graph *graph,
                      struct kiln_buffer *faults)
{
    struct validator validator = {.ir = ir, .graph = graph, .faults = faults};
    /* Not from the arena: the program is const, and debug builds validate often. */
    validator.sets = calloc((size_t)ir->op_count + 1, sizeof *validator.sets);
    validator.store_counts =
        calloc((size_t)graph->tensor_count + 1, sizeof *validator.store_counts);
    if (validator.sets == NULL || validator.store_counts == NULL) {
        kiln_buffer_append_text(faults, "memory for the validator could not be allocated\n");
        validator.fault_count++;
        goto cleanup;
    }
    if (ir->failed) {
        kiln_buffer_append_text(faults, "an allocation failed while the program was made\n");
        validator.fault_count++;
    }
    check_domain_table(&validator);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        validator.index = i;
        validator.op = &ir->ops[i];
        uint32_t faults_before = validator.fault_count;
        if (!check_form(&validator))
            continue;
        check_operation(&validator);
        if (validator.fault_count == faults_before) {
            validator.sets[i] = kiln_op_exact_dtypes(validator.op, graph, validator.sets);
            check_exactness(&validator);
        }
    }
    check_outputs(&validator);
cleanup:
    free(validator.sets);
    free(validator.store_counts);
    return validator.fault_count == 0;
}
