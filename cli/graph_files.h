/*
 * Which files a command line means: files as they are named, directories searched, manifests read.
 */
#ifndef KILN_CLI_GRAPH_FILES_H
#define KILN_CLI_GRAPH_FILES_H

#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_graph_file {
    char *path;     /* owned; "-" is standard input */
    uint64_t asked; /* how often hosts asked for it, by the counts in its directory; 0: unknown */
    size_t place;   /* on the command line and in the order of names */
    bool is_found;  /* found in a directory: skipped when it holds no graph */
    char *trouble;  /* owned; NULL, or `path` stands for files that cannot be found, and this says
                       why: a directory that cannot be read, say */
};

struct kiln_graph_files {
    struct kiln_graph_file *files;
    size_t count;
    size_t capacity;
};

void kiln_graph_files_init(struct kiln_graph_files *files);
void kiln_graph_files_fini(struct kiln_graph_files *files);

/*
 * Appends the file, or, for a directory, every *.bin below it in the order of names, and every
 * *.json that has no .bin of the same stem beside it. Links to directories are followed for `path`
 * itself only; hidden files and directories are left out. A path that does not exist is appended
 * too: reading it says so. What cannot be searched is appended with its trouble, in the place of
 * what would be found in it. Files of counts (capture_counts.h) say how often hosts asked for the
 * graphs beside them; a warning names those that cannot be read.
 */
void kiln_graph_files_add(struct kiln_graph_files *files, const char *path);

/* Puts first what hosts asked for most; the others keep their order. */
void kiln_graph_files_sort(struct kiln_graph_files *files);

/*
 * Appends what a manifest lists: the path of a graph or a directory per line, as above, relative to
 * the folder of the manifest; '-' reads the list from standard input, relative to the current
 * folder. Empty lines and those that begin with '#' are left out. KILN_NOT_FOUND or KILN_IO when it
 * cannot be read, KILN_BAD_ARGUMENT when it is no text; files of lines before that may be appended.
 */
enum kiln_status kiln_graph_files_add_manifest(struct kiln_graph_files *files, const char *manifest,
                                               struct kiln_error *error) KILN_NODISCARD;

#endif
