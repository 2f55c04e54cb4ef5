#include "tests/compiler/every_graph.h"

#include "tests/compiler/graph/json_graph.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nftw takes no context. */
static struct {
    const char *extension; /* of the files that hold graphs */
    every_graph_visit *visit;
    uint32_t graphs;
} walk;

static int visit_file(const char *path, const struct stat *attributes, int kind, struct FTW *place)
{
    const char *end = strrchr(path, '.');
    (void)place;
    if (kind != FTW_F || end == NULL || strcmp(end, walk.extension) != 0)
        return 0;
    size_t size = (size_t)attributes->st_size;
    char *bytes = malloc(size + 1);
    FILE *file = fopen(path, "rb");
    cr_assert(bytes != NULL && file != NULL, "%s", path);
    cr_assert_eq(fread(bytes, 1, size, file), size, "%s", path);
    bytes[size] = '\0';
    (void)fclose(file);
    struct json_graph graph;
    if (strcmp(end, ".json") == 0)
        json_graph_init(&graph, bytes, NULL);
    else
        json_graph_init_bytes(&graph, bytes, size);
    if (graph.status == KILN_OK) {
        walk.visit(&graph.graph, path);
        walk.graphs++;
    }
    json_graph_fini(&graph);
    free(bytes);
    return 0;
}

uint32_t every_stored_graph(every_graph_visit *visit)
{
    enum { OPEN_FOLDERS = 8 };
    walk.visit = visit;
    walk.extension = ".json";
    cr_assert_eq(nftw(KILN_SAMPLES, visit_file, OPEN_FOLDERS, FTW_PHYS), 0);
    walk.extension = ".bin";
    (void)nftw(KILN_SHARED_GRAPHS, visit_file, OPEN_FOLDERS, FTW_PHYS);
    return walk.graphs;
}

void every_random_graph(every_graph_visit *visit)
{
    static const struct {
        uint64_t first_seed;
        uint32_t count, families, max_nodes;
    } rows[] = {
        {1, 60, KILN_RANDOM_POINTWISE, 40},
        {100, 60, KILN_RANDOM_ALL, 14},
        {200, 40, KILN_RANDOM_NORMS | KILN_RANDOM_REDUCTIONS, 8},
        {300, 40, KILN_RANDOM_CONVOLUTIONS, 6},
        {700, 40, KILN_RANDOM_GROUPED | KILN_RANDOM_POINTWISE, 6},
        {400, 40, KILN_RANDOM_ATTENTION | KILN_RANDOM_POINTWISE, 12},
        {500, 40, KILN_RANDOM_PRODUCTS | KILN_RANDOM_POINTWISE, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (uint32_t k = 0; k < rows[i].count; k++) {
            uint64_t seed = rows[i].first_seed + k;
            struct kiln_random_graph_options random;
            struct kiln_arena arena;
            struct kiln_graph graph;
            struct kiln_error error;
            char name[64];
            (void)snprintf(name, sizeof name, "seed %u, families %u", (unsigned)seed,
                           (unsigned)rows[i].families);
            kiln_random_graph_options_init(&random);
            random.families = rows[i].families;
            random.max_nodes = rows[i].max_nodes;
            random.max_elements = 200000;
            kiln_error_init(&error);
            kiln_arena_init(&arena);
            cr_assert_eq(kiln_random_graph_make(seed, &random, &arena, &graph, &error), KILN_OK);
            visit(&graph, name);
            kiln_arena_fini(&arena);
        }
    }
}
