/*
 * The validator trusts nothing but the arrays' lengths: every index is checked before it is used,
 * and checks that need a sound operand are skipped where the operand was found faulty, so that one
 * defect gives one line.
 */
#include "compiler/graph/ragged.h"
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/ir.h"
#include "compiler/ir/view.h"
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
    return kiln_domain_is_equal(a, b);
}

/* The map and the iteration domain exist, and the operation is one that may have them. */
static bool check_map_form(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    if (validator->info->op_class != KILN_OP_CLASS_REDUCE && op->opcode != KILN_OP_REPEAT)
        fault(validator, "has a map, but neither reduces nor repeats");
    else if (op->map >= validator->ir->map_count)
        fault(validator, "map %" PRIu32 " does not exist", op->map);
    else if (op->iteration >= validator->ir->domain_count)
        fault(validator, "iteration domain %" PRIu32 " does not exist", op->iteration);
    else
        return true;
    return false;
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
    if (op->map != KILN_NONE && !check_map_form(validator))
        sound = false;
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
    bool is_product = validator->info->op_class == KILN_OP_CLASS_CONTRACT;
    bool is_keyed = validator->info->rule == KILN_OP_RULE_KEYED;
    uint32_t end = is_product ? KILN_CONTRACT_RESULT : is_keyed ? 1 : validator->info->arity;
    for (uint32_t i = first_equal; i < end; i++)
        check_allowed_scalar(validator, operand(validator, i)->scalar);
    for (uint32_t i = end; is_product && i < validator->info->arity; i++) {
        if (operand(validator, i)->scalar != KILN_SCALAR_I32 ||
            operand(validator, i)->opcode != KILN_OP_LOAD)
            fault(validator, "operand %" PRIu32 " is no LOAD of i32", i);
    }
    for (uint32_t i = first_equal + 1; i < end; i++) {
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
    case KILN_OP_RULE_POSITION:
        if (op->scalar != KILN_SCALAR_I32)
            fault(validator, "the result is a position, and not i32");
        break;
    case KILN_OP_RULE_KEYED:
        if (op->scalar != operand(validator, 0)->scalar)
            fault(validator, "the result's type is not that of its operands");
        if (operand(validator, 1)->scalar != KILN_SCALAR_I32)
            fault(validator, "the key is not i32");
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

enum { OPERAND_NAME_BYTES = 96 };

/* "%3 contract: operand 0 (tensor 1)"; of KILN_NONE "%3 contract: the result". */
static void name_operand(const struct validator *validator, uint32_t i, char *ret_name)
{
    const struct kiln_op *value = i == KILN_NONE ? validator->op : operand(validator, i);
    char which[24] = "the result";
    char tensor[24] = "";
    if (i != KILN_NONE)
        snprintf(which, sizeof which, "operand %" PRIu32, i);
    if (value->tensor != KILN_NONE)
        snprintf(tensor, sizeof tensor, " (tensor %" PRIu32 ")", value->tensor);
    snprintf(ret_name, OPERAND_NAME_BYTES, "%%%" PRIu32 " %s: %s%s", validator->index,
             validator->info->text, which, tensor);
}

static void check_domains(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    const struct kiln_domain *domains = validator->ir->domains;
    const struct kiln_domain *result = &domains[op->domain];
    if (op->opcode == KILN_OP_REPEAT) {
        if (op->map == KILN_NONE)
            fault(validator, "has no map");
        else if (op->iteration != op->domain)
            fault(validator, "iterates over another domain than its own");
        else if (validator->ir->maps[op->map].window_count != 0)
            fault(validator, "has windows");
        return;
    }
    if (validator->info->op_class == KILN_OP_CLASS_BROADCAST) {
        const struct kiln_domain *source = &domains[operand(validator, 0)->domain];
        if (same_domain(source, result) || !kiln_domain_broadcasts_to(source, result))
            fault(validator, "the operand can't be broadcast to the result's domain");
        return;
    }
    if (validator->info->op_class == KILN_OP_CLASS_VIEW) {
        const struct kiln_domain *source = &domains[operand(validator, 0)->domain];
        bool is_split =
            (result->end == 0 && kiln_domain_splits(source, result->dims, result->rank)) ||
            (source->end == 0 && kiln_domain_splits(result, source->dims, source->rank));
        if (same_domain(source, result) || !is_split)
            fault(validator, "neither domain splits the axes of the other");
        return;
    }
    bool reduces_scores = op->opcode == KILN_OP_SCORE_MAX || op->opcode == KILN_OP_SCORE_SUM;
    if (reduces_scores || validator->info->op_class == KILN_OP_CLASS_REDUCE) {
        const struct kiln_domain *source = &domains[kiln_ir_iteration(validator->ir, op)];
        const struct kiln_domain rows =
            reduces_scores ? kiln_domain_of_segment(result, source->rank) : *result;
        bool may_keep_all = op->map != KILN_NONE; /* windows of one tap */
        if ((same_domain(source, &rows) && !may_keep_all) ||
            !kiln_domain_broadcasts_to(&rows, source))
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

/* Positions among the axes of windows are i32. */
static bool can_count_positions(const struct kiln_map *map, const int64_t *sizes)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < map->window_count; i++) {
        if (__builtin_mul_overflow(count, sizes[i], &count))
            return false;
    }
    return count - 1 <= INT32_MAX;
}

static void check_positions(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    const struct kiln_map *map = &validator->ir->maps[op->map];
    int64_t sizes[KILN_MAP_MAX_WINDOWS];
    for (uint32_t i = 0; i < map->window_count; i++)
        sizes[i] = map->windows[i].size.value;
    if (op->opcode == KILN_OP_REDUCE_SUM_AT)
        kiln_ir_point_sizes(validator->ir, op, sizes);
    else if (op->opcode != KILN_OP_REDUCE_ARGMAX)
        return;
    if (!can_count_positions(map, sizes))
        fault(validator, "positions are more than i32 counts");
    if (op->opcode == KILN_OP_REDUCE_SUM_AT && op->constant.real != 0)
        fault(validator, "padding adds something");
    if (op->opcode == KILN_OP_REDUCE_SUM_AT &&
        operand(validator, 1)->domain != operand(validator, 0)->domain)
        fault(validator, "the keys have another domain than the elements");
}

/* A REDUCE through a map, or a REPEAT. Its iteration domain exists. */
static void check_map(struct validator *validator)
{
    const struct kiln_ir *ir = validator->ir;
    const struct kiln_op *op = validator->op;
    if (op->opcode == KILN_OP_REDUCE_MEAN || op->opcode == KILN_OP_REDUCE_SQUARES)
        fault(validator, "a mean has a map");
    const struct kiln_domain *iteration = &ir->domains[op->iteration];
    const struct kiln_domain *source = &ir->domains[operand(validator, 0)->domain];
    int64_t sizes[KILN_MAX_RANK];
    for (uint32_t i = 0; i < iteration->rank; i++)
        sizes[i] = iteration->dims[iteration->rank - 1 - i];
    char name[OPERAND_NAME_BYTES];
    name_operand(validator, 0, name);
    const struct kiln_map_setting setting = {.name = name,
                                             .sizes = sizes,
                                             .axis_count = iteration->rank,
                                             .dims = source->dims,
                                             .rank = source->rank,
                                             .may_be_ragged = op->opcode == KILN_OP_REPEAT};
    uint32_t faults = kiln_map_validate(&ir->maps[op->map], &setting, validator->faults);
    validator->fault_count += faults;
    if (faults == 0)
        check_positions(validator);
}

static void check_contraction(struct validator *validator)
{
    const struct kiln_ir *ir = validator->ir;
    const struct kiln_op *op = validator->op;
    if (op->contraction >= ir->contraction_count) {
        fault(validator, "contraction %" PRIu32 " does not exist", op->contraction);
        return;
    }
    enum kiln_routing routing = ir->contractions[op->contraction].routing;
    if (validator->info->op_class == KILN_OP_CLASS_CONTRACT &&
        kiln_routing_opcode(routing) != op->opcode)
        fault(validator, "routing %u is another operation's", (unsigned)routing);
    const struct kiln_domain *left = &ir->domains[operand(validator, 0)->domain];
    const struct kiln_domain *right = &ir->domains[operand(validator, 1)->domain];
    const struct kiln_domain of_segment =
        kiln_domain_of_segment(&ir->domains[op->domain], left->rank);
    bool may_be_cut = op->opcode == KILN_OP_ATTEND && op->kernel == 0;
    const struct kiln_domain *result = may_be_cut ? &of_segment : &ir->domains[op->domain];
    char names[KILN_CONTRACT_OPERAND_COUNT][OPERAND_NAME_BYTES];
    name_operand(validator, KILN_CONTRACT_LEFT, names[KILN_CONTRACT_LEFT]);
    name_operand(validator, KILN_CONTRACT_RIGHT, names[KILN_CONTRACT_RIGHT]);
    name_operand(validator, KILN_NONE, names[KILN_CONTRACT_RESULT]);
    const struct kiln_contraction_setting setting = {
        .names = {names[0], names[1], names[2]},
        .dims = {left->dims, right->dims, result->dims},
        .ranks = {left->rank, right->rank, result->rank},
    };
    validator->fault_count +=
        kiln_contraction_validate(&ir->contractions[op->contraction], &setting, validator->faults);
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

/* The tensor is ragged, and the lengths have its batches and the type of its offsets. */
static void check_length(struct validator *validator, const struct kiln_tensor *tensor)
{
    const struct kiln_op *op = validator->op;
    const struct kiln_domain *domain = &validator->ir->domains[op->domain];
    if (!kiln_tensor_is_ragged(tensor)) {
        fault(validator, "tensor %" PRIu32 " is not ragged", op->tensor);
        return;
    }
    const struct kiln_tensor *offsets = &validator->graph->tensors[tensor->ragged.offsets];
    if (kiln_dtype_info(offsets->dtype)->scalar != op->scalar)
        fault(validator, "offsets of tensor %" PRIu32 " are %s", op->tensor,
              kiln_dtype_info(offsets->dtype)->text);
    bool has_batches = domain->rank == 0 ? tensor->dims[0] == 1
                                         : domain->rank == KILN_RAGGED_RANK &&
                                               domain->dims[0] == tensor->dims[0] &&
                                               kiln_domain_elements(domain) == tensor->dims[0];
    if (!has_batches)
        fault(validator, "tensor %" PRIu32 " has other batches", op->tensor);
}

/* The tensor that the operation names has the value's type and shape and may be named here. */
static void check_tensor(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    if (op->tensor == KILN_NONE) {
        if (kiln_op_is_load(op) || op->opcode == KILN_OP_STORE)
            fault(validator, "names no tensor");
        return;
    }
    if (op->tensor >= validator->graph->tensor_count) {
        fault(validator, "tensor %" PRIu32 " does not exist", op->tensor);
        return;
    }
    const struct kiln_tensor *tensor = &validator->graph->tensors[op->tensor];
    if (op->opcode == KILN_OP_LENGTH) {
        check_length(validator, tensor);
        return;
    }
    if (kiln_dtype_info(tensor->dtype)->scalar != op->scalar)
        fault(validator, "tensor %" PRIu32 " is %s", op->tensor,
              kiln_dtype_info(tensor->dtype)->text);
    if (!kiln_domain_splits(&validator->ir->domains[op->domain], tensor->dims, tensor->rank))
        fault(validator, "tensor %" PRIu32 " has another shape", op->tensor);
    if (op->opcode == KILN_OP_LOAD) {
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_HOST_SCALAR)
            fault(validator, "tensor %" PRIu32 " is not an input", op->tensor);
    } else if (op->opcode == KILN_OP_STORE) {
        if (tensor->role != KILN_TENSOR_OUTPUT)
            fault(validator, "tensor %" PRIu32 " is not an output", op->tensor);
        validator->store_counts[op->tensor]++;
    } else if (op->opcode == KILN_OP_COPY) {
        const struct kiln_op *load = operand(validator, 0);
        if (load->opcode != KILN_OP_LOAD || load->tensor != op->tensor)
            fault(validator, "tensor %" PRIu32 " is not its operand", op->tensor);
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
    if (op->map != KILN_NONE)
        check_map(validator);
    else if (op->opcode == KILN_OP_REDUCE_MAX_NUMBER || op->opcode == KILN_OP_REDUCE_ARGMAX ||
             op->opcode == KILN_OP_REDUCE_SUM_AT)
        fault(validator, "has no map");
    if (op->opcode == KILN_OP_INDEX && op->axis >= validator->ir->domains[op->domain].rank)
        fault(validator, "axis %" PRIu32 " is out of range", op->axis);
    if (op->opcode == KILN_OP_STORE && (operand(validator, 0)->scalar != op->scalar ||
                                        operand(validator, 0)->domain != op->domain))
        fault(validator, "the operand's type or domain is not that of the store");
}

/* Checks that the value of a tensor was rounded to the tensor's type. */
static void check_exactness(struct validator *validator)
{
    const struct kiln_op *op = validator->op;
    if (op->tensor == KILN_NONE || kiln_op_is_load(op))
        return;
    uint32_t set = op->opcode == KILN_OP_STORE ? validator->sets[op->operands[0]]
                                               : validator->sets[validator->index];
    enum kiln_dtype dtype = validator->graph->tensors[op->tensor].dtype;
    if ((set & KILN_DTYPE_BIT(dtype)) == 0)
        fault(validator, "the value is not rounded to %s", kiln_dtype_info(dtype)->text);
}

/* Blocks are the fewest that hold all elements, and the last one is short. */
static bool has_sound_end(const struct kiln_domain *domain)
{
    if (domain->end == 0)
        return domain->block_axis == 0;
    if (domain->rank < 2 || domain->block_axis > domain->rank - 2)
        return false;
    int64_t block = domain->dims[domain->rank - 1 - domain->block_axis];
    int64_t blocks = domain->dims[domain->rank - 2 - domain->block_axis];
    return blocks > 1 && block > 1 && domain->end % block != 0 &&
           (domain->end - 1) / block + 1 == blocks;
}

static void check_domain_table(struct validator *validator)
{
    for (uint32_t i = 0; i < validator->ir->domain_count; i++) {
        const struct kiln_domain *domain = &validator->ir->domains[i];
        bool canonical =
            domain->rank <= KILN_MAX_RANK && (domain->rank == 0 || !kiln_domain_is_one(domain, 0));
        for (uint32_t axis = 0; canonical && axis < KILN_MAX_RANK; axis++)
            canonical = axis < domain->rank ? domain->dims[axis] >= 1 : domain->dims[axis] == 0;
        canonical = canonical && has_sound_end(domain);
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
