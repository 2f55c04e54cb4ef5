/*
 * What `kiln bench` is asked to measure: cases of the suite at certain sizes, and graph files.
 */
#ifndef KILN_CLI_BENCH_BENCH_SUBJECTS_H
#define KILN_CLI_BENCH_BENCH_SUBJECTS_H

#include "cli/bench/bench_shapes.h"
#include "cli/graph_input.h"

#include <stdbool.h>

/* Graphs that cases stand for. */
enum kiln_bench_sweep {
    KILN_BENCH_SWEEP_NONE,
    KILN_BENCH_SWEEP_SIZES,  /* cases at all sizes from 4 Ki to `elements`, times four each */
    KILN_BENCH_SWEEP_SHAPES, /* the graphs of bench_shapes.h take the place of the cases */
    KILN_BENCH_SWEEP_COUNT,
};

struct kiln_bench_subject {
    char *name;                          /* "softmax_fp16", a file's stem or path; owned */
    const struct kiln_bench_case *which; /* NULL: a shape or a file */
    struct kiln_bench_shape shape;       /* row_elems 0: a case or a file */
    int64_t elements;                    /* of a case or a shape */
    char *path;                          /* of a file; owned */
    bool is_found;                       /* in a directory: skipped when it holds no graph */
    char *trouble; /* why `path`, a directory, cannot be searched; NULL when it is a file; owned */
};

struct kiln_bench_subjects {
    struct kiln_bench_subject *subjects;
    size_t count;
    size_t capacity;
    int64_t elements;       /* of cases of the suite added from now on */
    int64_t model_elements; /* of layers of models */
    enum kiln_bench_sweep sweep;
    uint64_t seed; /* of a sweep over shapes */
};

/* "sizes", "shapes"; "" for none. */
const char *kiln_bench_sweep_name(enum kiln_bench_sweep sweep);

/* Starts without subjects, with the members given in `settings` from `elements` on. */
void kiln_bench_subjects_init(struct kiln_bench_subjects *subjects,
                              const struct kiln_bench_subjects *settings);
void kiln_bench_subjects_fini(struct kiln_bench_subjects *subjects);

/* Appends all cases, or the default ones. */
void kiln_bench_subjects_add_cases(struct kiln_bench_subjects *subjects, bool is_all);
/* Appends what an operand means: a case or shape ("softmax_fp16"), one of every type ("softmax"), a
 * pattern of their names ("llama3*"), a graph file or a directory of graphs; no files in a sweep
 * over shapes. A subject is appended once. KILN_BAD_ARGUMENT, with a hint, when it is none of
 * them. */
enum kiln_status kiln_bench_subjects_add(struct kiln_bench_subjects *subjects, const char *operand,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Builds or reads the graph. The input is initialised in any case: fini it. Errors as in
 * kiln_graph_input_read. */
enum kiln_status kiln_bench_subject_read(const struct kiln_bench_subject *subject,
                                         struct kiln_graph_input *ret_input,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
