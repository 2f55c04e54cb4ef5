/*
 * Writes random graphs into a directory, as a capture would: for runs of `kiln compile` over
 * thousands of graphs.
 *
 * usage: random_graph_files DIRECTORY COUNT [SEED [MAX_NODES]]
 *
 * Graph i is made from SEED + i (1 by default) and has all families of nodes. The directory is
 * made; files that are there are replaced.
 */
#include "compiler/graph/wire_messages.h"
#include "runtime/support/arena.h"
#include "runtime/support/file.h"
#include "tests/support/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ELEMENTS = 6000, MAX_NODES = 12, PATH_BYTES = 4096 };

static enum kiln_status write_one(const char *directory, uint64_t seed,
                                  const struct kiln_random_graph_options *options,
                                  struct kiln_error *error)
{
    struct kiln_arena arena;
    struct kiln_buffer bytes;
    struct kiln_graph graph;
    char path[PATH_BYTES];
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    (void)snprintf(path, sizeof path, "%s/graph_%08" PRIu64 ".bin", directory, seed);
    enum kiln_status status = kiln_random_graph_make(seed, options, &arena, &graph, error);
    if (status == KILN_OK)
        status = kiln_graph_write(&graph, options->era, &bytes, error);
    if (status == KILN_OK)
        status = kiln_file_write(path, bytes.data, bytes.size, 0, error);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 5) {
        (void)fprintf(stderr, "usage: random_graph_files DIRECTORY COUNT [SEED [MAX_NODES]]\n");
        return 2;
    }
    uint64_t count = strtoull(argv[2], NULL, 10);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    struct kiln_random_graph_options options;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_ALL;
    options.max_elements = MAX_ELEMENTS;
    options.max_nodes = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : MAX_NODES;
    options.dtypes &= ~(UINT32_C(1) << KILN_DTYPE_BOOL); /* has no number on the wire */
    enum kiln_status status = kiln_directory_make(argv[1], 0777, &error);
    for (uint64_t i = 0; status == KILN_OK && i < count; i++)
        status = write_one(argv[1], seed + i, &options, &error);
    if (status != KILN_OK)
        (void)fprintf(stderr, "error: %s\n", error.text);
    return status == KILN_OK ? 0 : 1;
}
