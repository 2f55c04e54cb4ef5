/*
 * Every kernel of every graph that is stored as a file, for every target: the forms come to an end
 * because the family has nothing left to give up.
 */
#include "compiler/plan/kernel_plan.h"
#include "tests/compiler/graph/json_graph.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const targets[] = {
#define KILN_TARGET(name, ...) #name,
#include "compiler/codegen/targets.def"
    "host",
};

/* nftw takes no context. */
static struct {
    const char *extension; /* of the files that hold graphs */
    uint32_t graphs;
    uint32_t most_forms;
    char most_at[512];
} walk;

static void count_forms(const struct kiln_graph *graph, const char *target_name, const char *path)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_kernel_plan plan;
    const struct kiln_lower_options options = {0};
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK, "%s", error.text);
    enum kiln_status status =
        kiln_kernel_plan_make(graph, &target, &options, &arena, &plan, &error);
    cr_assert(status == KILN_OK || status == KILN_UNSUPPORTED || status == KILN_REJECTED,
              "%s for %s: %s", path, target_name, error.text);
    for (uint32_t i = 0; status == KILN_OK && i < plan.partition.group_count; i++) {
        enum kiln_status relaxed = KILN_OK;
        while (relaxed == KILN_OK)
            relaxed = kiln_kernel_plan_relax(&plan, graph, i, &error);
        cr_assert_eq(relaxed, KILN_NOT_FOUND, "%s for %s: %s", path, target_name, error.text);
        uint32_t forms = plan.schedules[i].form + 1;
        if (forms <= walk.most_forms)
            continue;
        walk.most_forms = forms;
        (void)snprintf(walk.most_at, sizeof walk.most_at, "%s for %s", path, target_name);
    }
    kiln_arena_fini(&arena);
}

static char *read_file(const char *path, size_t size)
{
    char *bytes = malloc(size + 1);
    FILE *file = fopen(path, "rb");
    cr_assert(bytes != NULL && file != NULL, "%s", path);
    cr_assert_eq(fread(bytes, 1, size, file), size, "%s", path);
    bytes[size] = '\0';
    (void)fclose(file);
    return bytes;
}

static int visit(const char *path, const struct stat *attributes, int kind, struct FTW *place)
{
    const char *end = strrchr(path, '.');
    (void)place;
    if (kind != FTW_F || end == NULL || strcmp(end, walk.extension) != 0)
        return 0;
    char *bytes = read_file(path, (size_t)attributes->st_size);
    struct json_graph graph;
    if (strcmp(end, ".json") == 0)
        json_graph_init(&graph, bytes, NULL);
    else
        json_graph_init_bytes(&graph, bytes, (size_t)attributes->st_size);
    if (graph.status == KILN_OK) {
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
            count_forms(&graph.graph, targets[i], path);
        walk.graphs++;
    }
    json_graph_fini(&graph);
    free(bytes);
    return 0;
}

Test(graph_forms, the_forms_of_every_kernel_end_before_the_most_that_there_may_be)
{
    enum { OPEN_FOLDERS = 8 };
    walk.extension = ".json";
    cr_assert_eq(nftw(KILN_SAMPLES, visit, OPEN_FOLDERS, FTW_PHYS), 0);
    /* These are not everywhere. */
    walk.extension = ".bin";
    (void)nftw(KILN_SHARED_GRAPHS, visit, OPEN_FOLDERS, FTW_PHYS);
    cr_log_info("%u graphs; most forms: %u, of %s", walk.graphs, walk.most_forms, walk.most_at);
    cr_expect_lt(walk.most_forms, KILN_MAX_FORMS, "%u forms of %s", walk.most_forms, walk.most_at);
}
