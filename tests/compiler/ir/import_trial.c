#include "tests/compiler/ir/import_trial.h"
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "compiler/reference/convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

void kiln_trial_begin(struct kiln_trial *trial, enum kiln_node_kind kind, uint64_t seed)
{
    *trial = (struct kiln_trial){.random = seed * 2 + 1};
    kiln_arena_init(&trial->arena);
    kiln_error_init(&trial->error);
    trial->node = (struct kiln_node){.kind = kind, .name = "", .compute_type = KILN_DTYPE_F32};
    trial->graph = (struct kiln_graph){
        .name = "", .node_count = 1, .tensors = trial->tensors, .nodes = &trial->node};
}

void kiln_trial_end(struct kiln_trial *trial)
{
    kiln_arena_fini(&trial->arena);
}

/* In [-1, 1). */
static double next_random(struct kiln_trial *trial)
{
    uint64_t state = trial->random += UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)(int64_t)((state ^ state >> 31) >> 11) * 0x1p-52 - 1;
}

static uint32_t add_tensor(struct kiln_trial *trial, enum kiln_tensor_role role,
                           enum kiln_dtype dtype, uint32_t rank, const int64_t *dims)
{
    uint32_t ordinal = trial->graph.tensor_count++;
    cr_assert_lt(ordinal, (uint32_t)KILN_TRIAL_MAX_TENSORS);
    struct kiln_tensor *tensor = &trial->tensors[ordinal];
    *tensor = (struct kiln_tensor){.name = "",
                                   .dtype = dtype,
                                   .role = role,
                                   .rank = rank,
                                   .alignment_bytes = 16,
                                   .producer = role == KILN_TENSOR_OUTPUT ? 0 : KILN_NONE};
    int64_t stride = 1;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = trial->reverse_strides ? i : rank - 1 - i;
        tensor->dims[axis] = dims[axis];
        tensor->strides[axis] = dims[axis] == 1 ? 0 : stride;
        stride *= dims[axis];
    }
    trial->memory[ordinal] =
        kiln_arena_calloc(&trial->arena, (size_t)kiln_tensor_footprint_bytes(tensor), 1);
    cr_assert_not_null(trial->memory[ordinal]);
    return ordinal;
}

static void add_input(struct kiln_trial *trial, enum kiln_operand role, uint32_t ordinal)
{
    trial->node.inputs[trial->node.input_count] = ordinal;
    trial->node.input_roles[trial->node.input_count++] = (uint8_t)role;
}

uint32_t kiln_trial_input(struct kiln_trial *trial, enum kiln_operand role, enum kiln_dtype dtype,
                          uint32_t rank, const int64_t *dims, double offset, double spread)
{
    uint32_t ordinal = add_tensor(trial, KILN_TENSOR_INPUT, dtype, rank, dims);
    unsigned char *bytes = trial->memory[ordinal];
    for (int64_t n = 0; n < kiln_tensor_elements(&trial->tensors[ordinal]); n++) {
        double value = offset + spread * next_random(trial);
        struct kiln_constant element = {
            .real = value, .integer = kiln_round_to_integer(value, INT64_MIN, INT64_MAX)};
        kiln_element_store_at(dtype, element, bytes, (int64_t)n);
    }
    add_input(trial, role, ordinal);
    return ordinal;
}

uint32_t kiln_trial_constant(struct kiln_trial *trial, enum kiln_operand role,
                             enum kiln_dtype dtype, double value)
{
    static const int64_t one = 1;
    uint32_t ordinal = add_tensor(trial, KILN_TENSOR_CONSTANT, dtype, 1, &one);
    kiln_element_store(dtype, (struct kiln_constant){.real = value}, trial->memory[ordinal]);
    trial->tensors[ordinal].constant = kiln_element_load(dtype, trial->memory[ordinal]);
    add_input(trial, role, ordinal);
    return ordinal;
}

uint32_t kiln_trial_output(struct kiln_trial *trial, enum kiln_operand role, enum kiln_dtype dtype,
                           uint32_t rank, const int64_t *dims)
{
    uint32_t ordinal = add_tensor(trial, KILN_TENSOR_OUTPUT, dtype, rank, dims);
    trial->node.outputs[trial->node.output_count] = ordinal;
    trial->node.output_roles[trial->node.output_count++] = (uint8_t)role;
    return ordinal;
}

static void import(struct kiln_trial *trial, struct kiln_ir *ir, bool optimizes)
{
    kiln_ir_init(ir, &trial->arena);
    enum kiln_status status = kiln_ir_import(&trial->graph, ir, &trial->error);
    if (status == KILN_OK && optimizes)
        status = kiln_ir_optimize(ir, &trial->graph, &trial->error);
    cr_assert_eq(status, KILN_OK, "%s", trial->error.text);
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    bool valid = kiln_ir_validate(ir, &trial->graph, &faults);
    if (!valid)
        kiln_ir_print(ir, NULL, &faults);
    cr_assert(valid, "%s", kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
}

void kiln_trial_import(struct kiln_trial *trial)
{
    import(trial, &trial->plain, false);
    import(trial, &trial->optimized, true);
}

void kiln_trial_run(struct kiln_trial *trial, const struct kiln_ir *ir,
                    enum kiln_interpreter_math math)
{
    for (uint32_t i = 0; i < trial->node.output_count; i++) {
        uint32_t ordinal = trial->node.outputs[i];
        memset(trial->memory[ordinal], 0xFF,
               (size_t)kiln_tensor_footprint_bytes(&trial->tensors[ordinal]));
    }
    cr_assert_eq(
        kiln_ir_interpret(ir, &trial->graph, trial->memory, math, &trial->arena, &trial->error),
        KILN_OK, "%s", trial->error.text);
}

uint32_t kiln_trial_count(const struct kiln_trial *trial, enum kiln_opcode opcode)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trial->optimized.op_count; i++)
        count += trial->optimized.ops[i].opcode == opcode;
    return count;
}

static bool same_element(enum kiln_dtype dtype, struct kiln_constant a, struct kiln_constant b)
{
    if (kiln_dtype_is_integer(dtype))
        return a.integer == b.integer;
    if (isnan(a.real) || isnan(b.real))
        return isnan(a.real) && isnan(b.real);
    return a.real == b.real && (signbit(a.real) != 0) == (signbit(b.real) != 0);
}

void kiln_trial_check_passes(struct kiln_trial *trial)
{
    struct kiln_constant *before[KILN_MAX_NODE_OPERANDS];
    kiln_trial_run(trial, &trial->plain, KILN_MATH_ROUNDED);
    for (uint32_t i = 0; i < trial->node.output_count; i++) {
        uint32_t ordinal = trial->node.outputs[i];
        int64_t elements = kiln_tensor_elements(&trial->tensors[ordinal]);
        before[i] = kiln_arena_calloc(&trial->arena, (size_t)elements, sizeof **before);
        for (int64_t n = 0; n < elements; n++)
            before[i][n] = kiln_trial_element(trial, ordinal, n);
    }
    kiln_trial_run(trial, &trial->optimized, KILN_MATH_ROUNDED);
    for (uint32_t i = 0; i < trial->node.output_count; i++) {
        uint32_t ordinal = trial->node.outputs[i];
        const struct kiln_tensor *tensor = &trial->tensors[ordinal];
        for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++)
            cr_assert(
                same_element(tensor->dtype, before[i][n], kiln_trial_element(trial, ordinal, n)),
                "passes changed output %u", i);
    }
}

void kiln_trial_coordinates(const struct kiln_tensor *tensor, int64_t n, int64_t *ret_coordinates)
{
    for (uint32_t axis = tensor->rank; axis-- > 0; n /= tensor->dims[axis])
        ret_coordinates[axis] = n % tensor->dims[axis];
}

int64_t kiln_trial_position(const struct kiln_tensor *tensor, uint32_t rank,
                            const int64_t *coordinates)
{
    int64_t position = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        int64_t coordinate = tensor->dims[i] == 1 ? 0 : coordinates[rank - tensor->rank + i];
        position = position * tensor->dims[i] + coordinate;
    }
    return position;
}

struct kiln_constant kiln_trial_element(const struct kiln_trial *trial, uint32_t ordinal, int64_t n)
{
    const struct kiln_tensor *tensor = &trial->tensors[ordinal];
    int64_t coordinates[KILN_MAX_RANK], offset = 0;
    kiln_trial_coordinates(tensor, n, coordinates);
    for (uint32_t i = 0; i < tensor->rank; i++)
        offset += coordinates[i] * tensor->strides[i];
    const unsigned char *bytes = trial->memory[ordinal];
    return kiln_element_load_at(tensor->dtype, bytes, (int64_t)offset);
}
