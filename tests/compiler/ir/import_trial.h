/*
 * One node of any kind, from hand-made operands through import, passes and the IR's interpreter.
 *
 * Calling sequence: begin; input, constant, output for its operands, and whatever attributes of
 * `node` matter; import; run and read the outputs, as often as wanted; end. Every step that can
 * fail fails the test. Functions named after tensors return the tensor's ordinal.
 */
#ifndef KILN_TESTS_COMPILER_IR_IMPORT_TRIAL_H
#define KILN_TESTS_COMPILER_IR_IMPORT_TRIAL_H

#include "tests/compiler/ir/ir_interpreter.h"

enum { KILN_TRIAL_MAX_TENSORS = 2 * KILN_MAX_NODE_OPERANDS };

struct kiln_trial {
    uint64_t random; /* state of the generator of elements */
    bool
        reverse_strides; /* tensors made from now on have their first axis packed, not their last */
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph;
    struct kiln_node node;
    struct kiln_tensor tensors[KILN_TRIAL_MAX_TENSORS];
    void *memory[KILN_TRIAL_MAX_TENSORS];
    struct kiln_ir plain, optimized; /* the program before and after the passes */
};

void kiln_trial_begin(struct kiln_trial *trial, enum kiln_node_kind kind, uint64_t seed);
void kiln_trial_end(struct kiln_trial *trial);

/* Elements are offset + spread*u, u in [-1, 1). */
uint32_t kiln_trial_input(struct kiln_trial *trial, enum kiln_operand role, enum kiln_dtype dtype,
                          uint32_t rank, const int64_t *dims, double offset, double spread);
/* One element, of rank 1. */
uint32_t kiln_trial_constant(struct kiln_trial *trial, enum kiln_operand role,
                             enum kiln_dtype dtype, double value);
uint32_t kiln_trial_output(struct kiln_trial *trial, enum kiln_operand role, enum kiln_dtype dtype,
                           uint32_t rank, const int64_t *dims);

/* Imports into both programs, optimises one, validates both. */
void kiln_trial_import(struct kiln_trial *trial);
/* Outputs are 0xFF before. `ir` is one of the trial's programs. */
void kiln_trial_run(struct kiln_trial *trial, const struct kiln_ir *ir,
                    enum kiln_interpreter_math math);
/* How many operations of the optimised program have the opcode. */
uint32_t kiln_trial_count(const struct kiln_trial *trial, enum kiln_opcode opcode);
/* Fails the test when plain and optimised program differ in a bit of an output's memory, NaN aside.
 */
void kiln_trial_check_passes(struct kiln_trial *trial);

/* The coordinates of element `n`, row-major. */
void kiln_trial_coordinates(const struct kiln_tensor *tensor, int64_t n, int64_t *ret_coordinates);
/* Which element of `tensor`, row-major, an element of a shape of `rank` axes meets when the tensor
 * is broadcast to that shape, aligned at the right. */
int64_t kiln_trial_position(const struct kiln_tensor *tensor, uint32_t rank,
                            const int64_t *coordinates);
/* Element `n`, row-major. */
struct kiln_constant kiln_trial_element(const struct kiln_trial *trial, uint32_t tensor, int64_t n);

#endif
