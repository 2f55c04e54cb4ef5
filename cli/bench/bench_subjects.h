/*
 * What `kiln bench` is asked to measure: cases of the suite at certain sizes, and graph files.
 */
#ifndef KILN_CLI_BENCH_BENCH_SUBJECTS_H
#define KILN_CLI_BENCH_BENCH_SUBJECTS_H

#include "cli/bench/bench_suite.h"
#include "cli/graph_input.h"

#include <stdbool.h>

struct kiln_bench_subject {
    char *name;                          /* "softmax_fp16", a file's stem or path; owned */
    const struct kiln_bench_case *which; /* NULL: a file */
    int64_t elements;                    /* of a case */
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
    bool sweep; /* cases are added at all sizes from 4 Ki to `elements`, times four each */
};

void kiln_bench_subjects_init(struct kiln_bench_subjects *subjects, int64_t elements,
                              int64_t model_elements, bool sweep);
void kiln_bench_subjects_fini(struct kiln_bench_subjects *subjects);

/* Appends all cases, or the default ones. */
void kiln_bench_subjects_add_cases(struct kiln_bench_subjects *subjects, bool is_all);
/* Appends what an operand means: a case ("softmax_fp16"), a case of every type ("softmax"), a
 * pattern of their names ("llama3*"), a graph file or a directory of graphs. What was appended
 * before is not appended again. KILN_BAD_ARGUMENT, with a hint, when it is none of them. */
enum kiln_status kiln_bench_subjects_add(struct kiln_bench_subjects *subjects, const char *operand,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Builds or reads the graph. The input is initialised in any case: fini it. Errors as in
 * kiln_graph_input_read. */
enum kiln_status kiln_bench_subject_read(const struct kiln_bench_subject *subject,
                                         struct kiln_graph_input *ret_input,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
