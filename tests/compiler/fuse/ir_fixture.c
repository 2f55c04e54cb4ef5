#include "tests/compiler/fuse/ir_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct ir_fixture *ir_fixture_create(void)
{
    struct ir_fixture *fixture = calloc(1, sizeof *fixture);
    *fixture = (struct ir_fixture){0};
    kiln_arena_init(&fixture->arena);
    kiln_ir_init(&fixture->ir, &fixture->arena);
    fixture->graph.tensors = fixture->tensors;
    fixture->target = (struct kiln_target){.kind = KILN_TARGET_AMDGPU,
                                           .wave_size = 64,
                                           .lds_bytes = 65536,
                                           .vgprs = 256,
                                           .compute_units = 100};
    return fixture;
}

void ir_fixture_destroy(struct ir_fixture *fixture)
{
    kiln_arena_fini(&fixture->arena);
    free(fixture);
}

uint32_t ir_fixture_tensor(struct ir_fixture *fixture, enum kiln_tensor_role role, int64_t rows,
                           int64_t cols)
{
    uint32_t ordinal = fixture->graph.tensor_count++;
    fixture->tensors[ordinal] = (struct kiln_tensor){
        .uid = ordinal,
        .name = "",
        .dtype = KILN_DTYPE_F32,
        .role = role,
        .rank = 2,
        .dims = {rows, cols},
        .strides = {rows == 1 ? 0 : cols, cols == 1 ? 0 : 1},
        .alignment_bytes = 16,
    };
    return ordinal;
}

uint32_t ir_fixture_load(struct ir_fixture *fixture, int64_t rows, int64_t cols)
{
    return kiln_ir_load(&fixture->ir, &fixture->graph,
                        ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, rows, cols));
}

uint32_t ir_fixture_result(struct ir_fixture *fixture, uint32_t value)
{
    const struct kiln_domain *domain = &fixture->ir.domains[fixture->ir.ops[value].domain];
    int64_t rows = domain->rank > 1 ? domain->dims[0] : 1;
    int64_t cols = domain->rank > 0 ? domain->dims[domain->rank - 1] : 1;
    fixture->ir.ops[value].tensor = ir_fixture_tensor(fixture, KILN_TENSOR_VIRTUAL, rows, cols);
    return value;
}

uint32_t ir_fixture_store(struct ir_fixture *fixture, uint32_t value)
{
    ir_fixture_result(fixture, value);
    uint32_t tensor = fixture->ir.ops[value].tensor;
    fixture->tensors[tensor].role = KILN_TENSOR_OUTPUT;
    kiln_ir_store(&fixture->ir, value, tensor);
    return tensor;
}

struct kiln_partition ir_fixture_partition(struct ir_fixture *fixture)
{
    struct kiln_partition result;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_partition(&fixture->ir, &fixture->graph, &fixture->target, &fixture->options,
                                &fixture->strategy, &result, &error),
                 KILN_OK, "%s", error.text);
    return result;
}

uint32_t ir_fixture_domain(struct ir_fixture *fixture, int64_t rows, int64_t cols)
{
    int64_t dims[2] = {rows, cols};
    return kiln_ir_domain(&fixture->ir, dims, 2);
}
