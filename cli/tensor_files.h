/*
 * TENSOR=FILE of `kiln run --input` and `--output`: a tensor by its uid or its name.
 */
#ifndef KILN_CLI_TENSOR_FILES_H
#define KILN_CLI_TENSOR_FILES_H

#include "cli/command_line.h"
#include "compiler/graph/graph.h"

struct kiln_tensor_file {
    char *tensor; /* as it was written; owned */
    const char *path;
    uint32_t ordinal; /* of the graph's tensors, after kiln_tensor_files_resolve */
};

struct kiln_tensor_files {
    bool are_outputs;
    struct kiln_tensor_file *files; /* owned */
    size_t count;
};

/* Adds the value of the option just returned. False when that is no TENSOR=FILE, or names a tensor
 * that is there: reported, and the line is stopped. */
bool kiln_tensor_files_add(struct kiln_tensor_files *list, struct kiln_command_line *line);
/* Finds the tensors in the graph. KILN_BAD_ARGUMENT with near misses for one that it does not have,
 * that several have the name of, or that is named twice. */
enum kiln_status kiln_tensor_files_resolve(struct kiln_tensor_files *list,
                                           const struct kiln_graph *graph,
                                           struct kiln_error *error) KILN_NODISCARD;
/* The file of a tensor of the graph, or NULL. */
const char *kiln_tensor_files_find(const struct kiln_tensor_files *list, uint32_t ordinal);
void kiln_tensor_files_fini(struct kiln_tensor_files *list);

#endif
