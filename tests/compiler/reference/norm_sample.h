/*
 * A graph of one norm with packed float tensors of rank 3, for tests of the oracle: start, add
 * operands, run, look at the results, finish.
 */
#ifndef KILN_TESTS_COMPILER_REFERENCE_NORM_SAMPLE_H
#define KILN_TESTS_COMPILER_REFERENCE_NORM_SAMPLE_H

#include "compiler/reference/reference.h"

enum { NORM_SAMPLE_TENSORS = 16, NORM_SAMPLE_ELEMENTS = 12000 };

struct norm_sample {
    struct kiln_tensor tensors[NORM_SAMPLE_TENSORS];
    struct kiln_node node;
    struct kiln_graph graph;
    const void *memory[NORM_SAMPLE_TENSORS];
    struct kiln_reference_tensor reference[NORM_SAMPLE_TENSORS];
    struct kiln_arena arena;
    struct kiln_error error;
};

extern struct norm_sample norm_sample;

/* What tests fill, and where they compute. */
extern float x_data[NORM_SAMPLE_ELEMENTS], dy_data[NORM_SAMPLE_ELEMENTS];
extern float scale_data[NORM_SAMPLE_ELEMENTS], bias_data[NORM_SAMPLE_ELEMENTS];
extern float out[NORM_SAMPLE_ELEMENTS], out_dscale[NORM_SAMPLE_ELEMENTS];
extern float out_dbias[NORM_SAMPLE_ELEMENTS];

/* x around the offset, the others around 0 or 1. */
void norm_sample_fill(uint64_t seed, int64_t count, double offset);

void norm_sample_start(enum kiln_node_kind kind, uint32_t axes);
void norm_sample_add_input(enum kiln_operand role, int64_t a, int64_t b, int64_t c,
                           const float *data);
void norm_sample_add_output(enum kiln_operand role, int64_t a, int64_t b, int64_t c);
void norm_sample_run(void);
void norm_sample_finish(void);

const struct kiln_reference_tensor *norm_sample_result(enum kiln_operand role);
struct kiln_comparison norm_sample_compare(enum kiln_operand role, const float *memory);
/* Every element is checked and inside its bound. */
void norm_sample_assert_inside(enum kiln_operand role, const float *memory);
void assert_near(double got, double expected, double tolerance);

#endif
