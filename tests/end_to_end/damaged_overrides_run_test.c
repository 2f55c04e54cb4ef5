/*
 * Calls with override shapes that are wrong in every way, on the host device. Each ends in a
 * sentence or in a right execution; sanitizers see accesses out of bounds.
 *
 * DAMAGED_OVERRIDES in the environment is the number of calls, in place of a few thousand.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/engine/engine.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 64, TENSORS = 2, RANK = 2, DAMAGED = 3000 };

static struct json_graph graph;

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    graph_sketch_accept(&graph, "Pointwise in_0=8,64 out_0=8,64 !operation='EXP'", NULL);
    graph.graph.takes_overrides = true;
}

static void tear_down(void)
{
    json_graph_fini(&graph);
    temporary_directory_remove();
}

TestSuite(damaged_overrides_run, .init = set_up, .fini = tear_down, .timeout = 3000);

/* The arrays of a call, right ones at first. */
struct call {
    int64_t uids[TENSORS];
    uint32_t ranks[TENSORS];
    int64_t dims[TENSORS][RANK];
    int64_t strides[TENSORS][RANK];
    const int64_t *dims_of[TENSORS];
    const int64_t *strides_of[TENSORS];
    struct kiln_shape_overrides overrides;
};

static void init(struct call *call, struct kiln_random *random)
{
    int64_t rows = 1 + kiln_random_below(random, ROWS);
    for (int i = 0; i < TENSORS; i++) {
        call->uids[i] = graph.graph.tensors[i].uid;
        call->ranks[i] = RANK;
        call->dims[i][0] = rows;
        call->dims[i][1] = COLUMNS;
        call->strides[i][0] = COLUMNS;
        call->strides[i][1] = 1;
        call->dims_of[i] = call->dims[i];
        call->strides_of[i] = call->strides[i];
    }
    call->overrides = (struct kiln_shape_overrides){TENSORS, call->uids, call->ranks, call->dims_of,
                                                    call->strides_of};
}

static int64_t wrong_number(struct kiln_random *random, int64_t right)
{
    static const int64_t numbers[] = {0,         -1,        INT64_MIN,       INT64_MAX,
                                      INT32_MAX, INT32_MIN, (int64_t)1 << 40};
    uint32_t kind = kiln_random_below(random, 10);
    bool is_far = right > INT32_MAX || right < INT32_MIN; /* damaged before */
    return kind < 7 || is_far ? numbers[kind % 7]
           : kind == 7        ? right + 1
           : kind == 8        ? right - 1
                              : 2 * right;
}

static void damage(struct call *call, struct kiln_random *random)
{
    uint32_t i = kiln_random_below(random, TENSORS), axis = kiln_random_below(random, RANK);
    switch (kiln_random_below(random, 10)) {
    case 0:
        call->uids[i] = wrong_number(random, call->uids[i]);
        break;
    case 1:
        call->uids[i] = call->uids[1 - i];
        break;
    case 2: /* no more than the arrays have, since no engine can tell */
        call->ranks[i] = kiln_random_chance(random, 50) ? kiln_random_below(random, RANK) : 9;
        break;
    case 3:
        call->dims_of[i] = NULL;
        break;
    case 4:
        call->strides_of[i] = NULL;
        break;
    case 5:
        call->overrides.count = kiln_random_below(random, TENSORS);
        break;
    case 6:
        if (kiln_random_chance(random, 50))
            call->overrides.uids = NULL;
        else
            call->overrides.ranks = NULL;
        break;
    case 7:
        call->strides[i][axis] = wrong_number(random, call->strides[i][axis]);
        break;
    default:
        call->dims[i][axis] = wrong_number(random, call->dims[i][axis]);
        break;
    }
}

static struct kiln_engine *create(void)
{
    const struct kiln_engine_options options = {.device = "host",
                                                .cache_directory = temporary_path("cache"),
                                                .is_cache_isolated = true,
                                                .codegen = {.max_workers = 1}};
    struct kiln_engine *engine = NULL;
    cr_assert_eq(kiln_engine_create(&options, &engine, &graph.error), KILN_OK, "%s",
                 graph.error.text);
    return engine;
}

static struct kiln_plan *make_plan(struct kiln_engine *engine)
{
    struct kiln_buffer bytes;
    struct kiln_plan *plan = NULL;
    kiln_buffer_init(&bytes);
    cr_assert_eq(kiln_graph_write(&graph.graph, KILN_WIRE_ERA_CURRENT, &bytes, &graph.error),
                 KILN_OK);
    cr_assert_eq(kiln_plan_create(engine, bytes.data, bytes.size, &plan, &graph.error), KILN_OK,
                 "%s", graph.error.text);
    kiln_buffer_fini(&bytes);
    return plan;
}

static int call_count(void)
{
    const char *text = getenv("DAMAGED_OVERRIDES");
    return text != NULL ? atoi(text) : DAMAGED;
}

Test(damaged_overrides_run, each_call_ends_in_a_sentence_or_a_right_execution)
{
    struct kiln_engine *engine = create();
    struct kiln_plan *plan = make_plan(engine);
    struct kiln_random random = {1};
    float *x = calloc(ROWS * COLUMNS, sizeof *x), *y = calloc(ROWS * COLUMNS, sizeof *y);
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    const struct kiln_buffer_binding bindings[] = {{graph.graph.tensors[0].uid, x},
                                                   {graph.graph.tensors[1].uid, y}};
    int refused = 0;
    cr_assert(x != NULL && y != NULL && workspace != NULL);
    for (int i = 0; i < call_count(); i++) {
        struct call call;
        struct kiln_error error;
        kiln_error_init(&error);
        init(&call, &random);
        for (uint32_t k = kiln_random_below(&random, 3); k < 3; k++)
            damage(&call, &random);
        y[0] = 0;
        enum kiln_status status = kiln_plan_execute_with_overrides(plan, NULL, workspace, bindings,
                                                                   2, &call.overrides, &error);
        if (status == KILN_OK)
            cr_assert_eq(y[0], 1.0F);
        else
            cr_assert_neq(error.text[0], '\0', "%d", i);
        refused += status != KILN_OK;
    }
    cr_expect_gt(refused, call_count() / 2);
    free(x);
    free(y);
    free(workspace);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}
