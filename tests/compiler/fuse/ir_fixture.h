/*
 * Small IR programs for tests of the stages behind the IR: a graph of tensors without nodes, and
 * the program that would have come from it. Tensors have rank 2.
 */
#ifndef KILN_TESTS_COMPILER_FUSE_IR_FIXTURE_H
#define KILN_TESTS_COMPILER_FUSE_IR_FIXTURE_H

#include "compiler/fuse/partition.h"

enum { FIXTURE_MAX_TENSORS = 2000 };

struct ir_fixture {
    struct kiln_arena arena;
    struct kiln_ir ir;
    struct kiln_graph graph;
    struct kiln_tensor tensors[FIXTURE_MAX_TENSORS];
    struct kiln_target target; /* an AMDGPU with 256 vector registers, 100 compute units */
    struct kiln_lower_options options;
    struct kiln_partition_strategy strategy;
};

struct ir_fixture *ir_fixture_create(void);
void ir_fixture_destroy(struct ir_fixture *fixture);

/* A packed row-major float tensor; its strides may be changed before it is used. */
uint32_t ir_fixture_tensor(struct ir_fixture *fixture, enum kiln_tensor_role role, int64_t rows,
                           int64_t cols);
/* The value of a new packed input. */
uint32_t ir_fixture_load(struct ir_fixture *fixture, int64_t rows, int64_t cols);
/* Marks a value as the content of a new virtual tensor, as a node's result is; returns it. */
uint32_t ir_fixture_result(struct ir_fixture *fixture, uint32_t value);
/* Stores a value to a new packed output; returns the output's ordinal. */
uint32_t ir_fixture_store(struct ir_fixture *fixture, uint32_t value);
uint32_t ir_fixture_domain(struct ir_fixture *fixture, int64_t rows, int64_t cols);
/* Partitions and asserts success. */
struct kiln_partition ir_fixture_partition(struct ir_fixture *fixture);

#endif
