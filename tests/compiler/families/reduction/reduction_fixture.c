#include "tests/compiler/families/reduction/reduction_fixture.h"

#include "compiler/families/reduction/fuse/reduction_passes.h"
#include "compiler/schedule/schedule_group.h"

#include <criterion/criterion.h>

struct ir_fixture *reduction_fixture_create(const char *target)
{
    struct ir_fixture *fixture = ir_fixture_create();
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(target, &fixture->target, &error), KILN_OK, "%s", error.text);
    return fixture;
}

static uint32_t make_tensor(struct ir_fixture *fixture, const struct reduction_case *reduction,
                            enum kiln_tensor_role role, uint32_t missing_axes)
{
    uint32_t ordinal = ir_fixture_tensor(fixture, role, 1, 1);
    struct kiln_tensor *tensor = &fixture->tensors[ordinal];
    int64_t stride = 1;
    tensor->rank = reduction->rank;
    tensor->dtype = reduction->dtype;
    for (uint32_t i = 0; i < reduction->rank; i++) {
        uint32_t axis = reduction->is_reversed ? i : reduction->rank - 1 - i;
        bool missing = (missing_axes >> axis) & 1u;
        tensor->dims[axis] = missing ? 1 : reduction->dims[axis];
        tensor->strides[axis] = tensor->dims[axis] == 1 ? 0 : stride;
        stride *= tensor->dims[axis];
    }
    return ordinal;
}

static void store(struct ir_fixture *fixture, const struct reduction_case *reduction,
                  uint32_t value, uint32_t missing_axes)
{
    kiln_ir_store(&fixture->ir, value,
                  make_tensor(fixture, reduction, KILN_TENSOR_OUTPUT, missing_axes));
}

/* A tensor as long as a row, the same for all rows. */
static uint32_t load_scale(struct ir_fixture *fixture, const struct reduction_case *reduction,
                           uint32_t domain)
{
    uint32_t tensor = make_tensor(fixture, reduction, KILN_TENSOR_INPUT, ~reduction->reduced_axes);
    uint32_t scale = kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
    return kiln_ir_broadcast(&fixture->ir, scale, domain);
}

/* The IR; the value that is reduced first is the load, index 0. */
static void append_content(struct ir_fixture *fixture, const struct reduction_case *reduction)
{
    struct kiln_ir *ir = &fixture->ir;
    uint32_t x =
        kiln_ir_load(ir, &fixture->graph, make_tensor(fixture, reduction, KILN_TENSOR_INPUT, 0));
    uint32_t whole = ir->ops[x].domain;
    uint32_t rows =
        kiln_ir_reduced_domain(ir, reduction->dims, reduction->rank, reduction->reduced_axes);
    if (ir->ops[x].scalar != KILN_SCALAR_F32 && ir->ops[x].scalar != KILN_SCALAR_F64)
        x = kiln_ir_convert(ir, x, KILN_SCALAR_F32);
    for (uint32_t i = 0; i < reduction->addend_count; i++) {
        uint32_t tensor = make_tensor(fixture, reduction, KILN_TENSOR_INPUT, 0);
        uint32_t addend = kiln_ir_load(ir, &fixture->graph, tensor);
        if (ir->ops[addend].scalar != ir->ops[x].scalar)
            addend = kiln_ir_convert(ir, addend, ir->ops[x].scalar);
        x = kiln_ir_binary(ir, KILN_OP_ADD, x, addend);
    }
    switch (reduction->content) {
    case REDUCTION_SUM:
        store(fixture, reduction, kiln_ir_reduce(ir, KILN_OP_REDUCE_SUM, x, rows),
              reduction->reduced_axes);
        break;
    case REDUCTION_STATISTICS: {
        uint32_t mean = kiln_ir_reduce(ir, KILN_OP_REDUCE_MEAN, x, rows);
        uint32_t squares = kiln_ir_reduce(ir, KILN_OP_REDUCE_SQUARES, x, rows);
        store(fixture, reduction, mean, reduction->reduced_axes);
        store(fixture, reduction, squares, reduction->reduced_axes);
        break;
    }
    case REDUCTION_SOFTMAX: {
        uint32_t most =
            kiln_ir_broadcast(ir, kiln_ir_reduce(ir, KILN_OP_REDUCE_MAX, x, rows), whole);
        uint32_t power = kiln_ir_unary(ir, KILN_OP_EXP, kiln_ir_binary(ir, KILN_OP_SUB, x, most));
        uint32_t sum =
            kiln_ir_broadcast(ir, kiln_ir_reduce(ir, KILN_OP_REDUCE_SUM, power, rows), whole);
        store(fixture, reduction, kiln_ir_binary(ir, KILN_OP_DIV, power, sum), 0);
        break;
    }
    case REDUCTION_NORM: {
        uint32_t scale = load_scale(fixture, reduction, whole);
        uint32_t mean =
            kiln_ir_broadcast(ir, kiln_ir_reduce(ir, KILN_OP_REDUCE_MEAN, x, rows), whole);
        uint32_t squares = kiln_ir_reduce(ir, KILN_OP_REDUCE_SQUARES, x, rows);
        uint32_t factor = kiln_ir_broadcast(ir, kiln_ir_unary(ir, KILN_OP_RSQRT, squares), whole);
        uint32_t y =
            kiln_ir_binary(ir, KILN_OP_MUL, kiln_ir_binary(ir, KILN_OP_SUB, x, mean), factor);
        store(fixture, reduction, kiln_ir_binary(ir, KILN_OP_MUL, y, scale), 0);
        break;
    }
    default: {
        uint32_t scaled = kiln_ir_binary(ir, KILN_OP_MUL, x, load_scale(fixture, reduction, whole));
        uint32_t mean =
            kiln_ir_broadcast(ir, kiln_ir_reduce(ir, KILN_OP_REDUCE_MEAN, scaled, rows), whole);
        store(fixture, reduction, kiln_ir_binary(ir, KILN_OP_SUB, scaled, mean), 0);
        break;
    }
    }
    cr_assert_not(ir->failed);
}

static void align_access(struct ir_fixture *fixture, const struct kiln_fusion_group *group,
                         struct kiln_access *access)
{
    const struct kiln_domain *domain = &fixture->ir.domains[group->domain];
    const struct kiln_tensor *tensor = &fixture->tensors[access->tensor];
    access->dtype = tensor->dtype;
    for (uint32_t i = 0; i < domain->rank && i < tensor->rank; i++) {
        uint32_t axis = domain->rank - 1 - i;
        access->strides[axis] = tensor->strides[tensor->rank - 1 - i];
        if (access->is_store && tensor->dims[tensor->rank - 1 - i] == 1 && domain->dims[axis] != 1)
            access->guard_axes |= 1u << axis;
    }
}

/* The components of all accumulators, packed, one array each, segments one after another. */
static void append_accumulators(struct ir_fixture *fixture, const struct reduction_case *reduction,
                                struct kiln_fusion_group *group)
{
    const struct kiln_domain *domain = &fixture->ir.domains[group->domain];
    uint32_t value = 0;
    while (kiln_opcode_info(fixture->ir.ops[value].opcode)->op_class != KILN_OP_CLASS_REDUCE)
        value++;
    uint32_t components = reduction->content == REDUCTION_SUM ? 1 : 3;
    for (uint32_t component = 0; component < components; component++) {
        struct kiln_access *access = &group->accesses[group->access_count++];
        *access = (struct kiln_access){
            .value = value,
            .is_store = group->role == KILN_ROLE_PARTIAL,
            .kind = KILN_ARGUMENT_WORKSPACE,
            .tensor = KILN_NONE,
            .dtype = kiln_scalar_dtype(fixture->ir.ops[value].scalar),
            .is_accumulator = true,
            .component = component,
            .segment_stride = 1,
        };
        for (uint32_t axis = domain->rank; axis-- > 0;) {
            if ((group->reduced_axes >> axis) & 1u || domain->dims[axis] == 1)
                continue;
            access->strides[axis] = access->segment_stride;
            access->segment_stride *= domain->dims[axis];
        }
    }
}

struct kiln_fusion_group reduction_fixture_group(struct ir_fixture *fixture,
                                                 const struct reduction_case *reduction)
{
    struct kiln_ir *ir = &fixture->ir;
    append_content(fixture, reduction);
    uint32_t rows =
        kiln_ir_reduced_domain(ir, reduction->dims, reduction->rank, reduction->reduced_axes);
    bool is_combine = reduction->role == KILN_ROLE_COMBINE;
    struct kiln_fusion_group group = {
        .family = KILN_FAMILY_REDUCTION,
        .role = reduction->role,
        .domain = is_combine ? rows : ir->ops[0].domain,
        .segment_count = reduction->segment_count == 0 ? 1 : reduction->segment_count,
        .live_registers = 5,
        .ops = kiln_arena_calloc(&fixture->arena, ir->op_count, sizeof *group.ops),
        .accesses = kiln_arena_calloc(&fixture->arena, ir->op_count + 6, sizeof *group.accesses),
    };
    if (!is_combine)
        group.reduced_axes =
            kiln_domain_reduced_axes(&ir->domains[group.domain], &ir->domains[rows]);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        bool is_reduce = kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_REDUCE;
        if (op->opcode == KILN_OP_STORE || (is_combine && !is_reduce))
            continue;
        group.ops[group.op_count++] = i;
        group.cost += op->opcode == KILN_OP_EXP || op->opcode == KILN_OP_DIV ? 8 : 1;
        if (op->opcode == KILN_OP_LOAD) {
            group.accesses[group.access_count] =
                (struct kiln_access){.value = i, .tensor = op->tensor};
            align_access(fixture, &group, &group.accesses[group.access_count++]);
        }
    }
    if (is_combine)
        append_accumulators(fixture, reduction, &group);
    group.load_count = group.access_count;
    for (uint32_t i = 0; i < ir->op_count && reduction->role != KILN_ROLE_PARTIAL; i++) {
        const struct kiln_op *op = &ir->ops[i];
        if (op->opcode != KILN_OP_STORE)
            continue;
        group.accesses[group.access_count] =
            (struct kiln_access){.value = op->operands[0], .is_store = true, .tensor = op->tensor};
        align_access(fixture, &group, &group.accesses[group.access_count++]);
    }
    if (reduction->role == KILN_ROLE_PARTIAL)
        append_accumulators(fixture, reduction, &group);
    for (uint32_t i = 0; i < group.access_count; i++)
        group.accesses[i].place = kiln_reduction_access_place(&group, &group.accesses[i]);
    return group;
}

struct kiln_schedule reduction_fixture_schedule(struct ir_fixture *fixture,
                                                const struct kiln_fusion_group *group)
{
    struct kiln_schedule schedule;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_schedule_group(&fixture->ir, &fixture->graph, group, &fixture->target,
                                     &fixture->options, &schedule, &error),
                 KILN_OK, "%s", error.text);
    return schedule;
}

struct reduction_scheduled reduction_schedule_for(const char *target,
                                                  const struct reduction_case *reduction)
{
    struct reduction_scheduled result = {.fixture = reduction_fixture_create(target)};
    result.group = reduction_fixture_group(result.fixture, reduction);
    result.schedule = reduction_fixture_schedule(result.fixture, &result.group);
    return result;
}

void reduction_release(struct reduction_scheduled *scheduled)
{
    ir_fixture_destroy(scheduled->fixture);
}
