#include "runtime/engine/plan_shapes.h"

#include "runtime/engine/engine_knobs.h"
#include "runtime/engine/general_plans.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct kiln_plan_shapes *kiln_plan_shapes_create(void)
{
    struct kiln_plan_shapes *shapes = calloc(1, sizeof *shapes);
    if (shapes)
        kiln_process_mutex_init(&shapes->lock);
    return shapes;
}

static void destroy_shape(struct kiln_plan_shape *shape)
{
    if (!shape)
        return;
    kiln_plan_unref(shape->plan);
    free(shape);
}

static void destroy_list(struct kiln_plan_shape *shape)
{
    while (shape) {
        struct kiln_plan_shape *next = shape->next;
        destroy_shape(shape);
        shape = next;
    }
}

void kiln_plan_shapes_destroy(struct kiln_plan_shapes *shapes)
{
    if (!shapes)
        return;
    for (int i = 0; i < KILN_PLAN_SHAPE_PLACES; i++) {
        for (int k = 0; k < KILN_PLAN_SHAPE_WAYS; k++)
            destroy_shape(shapes->places[i][k]);
    }
    destroy_list(shapes->retired);
    kiln_process_mutex_fini(&shapes->lock);
    free(shapes);
}

/* ---- reading without a lock ---- */

/* A writer takes a shape out of the table first and looks for readers then, so one of the two sees
 * the other. A child of a fork inherits readers that never leave; there retired shapes stay. */
static void begin_reading(struct kiln_plan_shapes *shapes)
{
    (void)atomic_fetch_add(&shapes->readers, 1);
}

static void end_reading(struct kiln_plan_shapes *shapes)
{
    (void)atomic_fetch_sub(&shapes->readers, 1);
}

void kiln_plan_shapes_visit(struct kiln_plan_shapes *shapes,
                            void (*visit)(const struct kiln_plan *plan, void *context),
                            void *context)
{
    begin_reading(shapes);
    for (int i = 0; i < KILN_PLAN_SHAPE_PLACES; i++) {
        for (int k = 0; k < KILN_PLAN_SHAPE_WAYS; k++) {
            const struct kiln_plan_shape *shape = atomic_load(&shapes->places[i][k]);
            if (shape)
                visit(shape->plan, context);
        }
    }
    end_reading(shapes);
}

/* Checks every pointer and count that the lookup relies on. */
static enum kiln_status check_arrays(const struct kiln_shape_overrides *overrides,
                                     struct kiln_error *error)
{
    if (overrides->count > KILN_MAX_GRAPH_BINDINGS)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "%" PRIu32 " override shapes, no graph has more than %d tensors that "
                              "take one",
                              overrides->count, KILN_MAX_GRAPH_BINDINGS);
    const struct {
        const void *array;
        const char *name;
    } arrays[] = {{overrides->uids, "uids"},
                  {overrides->ranks, "ranks"},
                  {overrides->dims, "shapes"},
                  {overrides->strides, "strides"}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (!arrays[i].array)
            return kiln_error_set(error, KILN_BAD_ARGUMENT,
                                  "%" PRIu32 " override shapes, and their array of %s is NULL",
                                  overrides->count, arrays[i].name);
    }
    for (uint32_t i = 0; i < overrides->count; i++) {
        if (overrides->ranks[i] == 0 || overrides->ranks[i] > KILN_MAX_RANK)
            return kiln_error_set(error, KILN_BAD_ARGUMENT,
                                  "override shape of tensor uid %" PRId64 ": rank %" PRIu32
                                  ", must be 1 to %d",
                                  overrides->uids[i], overrides->ranks[i], KILN_MAX_RANK);
        if (!overrides->dims[i] || !overrides->strides[i])
            return kiln_error_set(
                error, KILN_BAD_ARGUMENT,
                "override shape of tensor uid %" PRId64 ": its array of %s is NULL",
                overrides->uids[i], overrides->dims[i] ? "strides" : "dimensions");
    }
    return KILN_OK;
}

/* ---- the arrays as words: uid, rank, sizes and strides of each shape ---- */

static size_t count_words(const struct kiln_shape_overrides *overrides)
{
    size_t count = 0;
    for (uint32_t i = 0; i < overrides->count; i++)
        count += 2 + 2 * (size_t)overrides->ranks[i];
    return count;
}

static void copy_words(const struct kiln_shape_overrides *overrides, uint64_t *words)
{
    for (uint32_t i = 0; i < overrides->count; i++) {
        uint32_t rank = overrides->ranks[i];
        *words++ = (uint64_t)overrides->uids[i];
        *words++ = rank;
        memcpy(words, overrides->dims[i], rank * sizeof *words);
        memcpy(words + rank, overrides->strides[i], rank * sizeof *words);
        words += 2 * (size_t)rank;
    }
}

static bool words_match(const struct kiln_plan_shape *shape,
                        const struct kiln_shape_overrides *overrides)
{
    const uint64_t *words = shape->words;
    const uint64_t *end = shape->words + shape->word_count;
    for (uint32_t i = 0; i < overrides->count; i++) {
        uint32_t rank = overrides->ranks[i];
        if ((size_t)(end - words) < 2 + 2 * (size_t)rank || words[1] != rank ||
            words[0] != (uint64_t)overrides->uids[i] ||
            memcmp(words + 2, overrides->dims[i], rank * sizeof *words) != 0 ||
            memcmp(words + 2 + rank, overrides->strides[i], rank * sizeof *words) != 0)
            return false;
        words += 2 + 2 * (size_t)rank;
    }
    return words == end;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_arrays(const struct kiln_shape_overrides *overrides)
{
    uint64_t hash = overrides->count;
    for (uint32_t i = 0; i < overrides->count; i++) {
        hash = mix(hash, (uint64_t)overrides->uids[i]);
        for (uint32_t axis = 0; axis < overrides->ranks[i]; axis++)
            hash = mix(mix(hash, (uint64_t)overrides->dims[i][axis]),
                       (uint64_t)overrides->strides[i][axis]);
    }
    return mix(hash, 0);
}

/* ---- the table ---- */

/* Among readers. NULL: the shape is new. */
static struct kiln_plan_shape *find(struct kiln_plan_shapes *shapes, uint64_t hash,
                                    const struct kiln_shape_overrides *overrides)
{
    for (int i = 0; i < KILN_PLAN_SHAPE_WAYS; i++) {
        struct kiln_plan_shape *shape =
            atomic_load(&shapes->places[hash % KILN_PLAN_SHAPE_PLACES][i]);
        if (!shape || shape->hash != hash || !words_match(shape, overrides))
            continue;
        uint64_t now = atomic_fetch_add_explicit(&shapes->clock, 1, memory_order_relaxed);
        atomic_store_explicit(&shape->used, now, memory_order_relaxed);
        return shape;
    }
    return NULL;
}

/* The plan of a known shape with a reference, or NULL. */
static struct kiln_plan *find_plan(struct kiln_plan_shapes *shapes, uint64_t hash,
                                   const struct kiln_shape_overrides *overrides)
{
    begin_reading(shapes);
    struct kiln_plan_shape *shape = find(shapes, hash, overrides);
    struct kiln_plan *plan = shape ? kiln_plan_ref(shape->plan) : NULL;
    end_reading(shapes);
    return plan;
}

/* The free slot of a place, or the one that was used least recently. Under the lock. */
static _Atomic(struct kiln_plan_shape *) *choose_slot(struct kiln_plan_shapes *shapes,
                                                      uint64_t hash)
{
    _Atomic(struct kiln_plan_shape *) *place = shapes->places[hash % KILN_PLAN_SHAPE_PLACES];
    _Atomic(struct kiln_plan_shape *) *chosen = &place[0];
    uint64_t oldest = UINT64_MAX;
    for (int i = 0; i < KILN_PLAN_SHAPE_WAYS; i++) {
        struct kiln_plan_shape *shape = atomic_load(&place[i]);
        uint64_t used = shape ? atomic_load_explicit(&shape->used, memory_order_relaxed) : 0;
        if (!shape)
            return &place[i];
        if (used < oldest) {
            chosen = &place[i];
            oldest = used;
        }
    }
    return chosen;
}

/* Under the lock. The retired shapes, if nobody can look at them any more. */
static struct kiln_plan_shape *take_retired(struct kiln_plan_shapes *shapes)
{
    struct kiln_plan_shape *retired = shapes->retired;
    if (!retired || atomic_load(&shapes->readers) != 0)
        return NULL;
    shapes->retired = NULL;
    return retired;
}

/* Another thread may have added the same shape meanwhile; then that one stays. Without memory the
 * shape is new the next time, too. */
static void add(struct kiln_plan_shapes *shapes, uint64_t hash,
                const struct kiln_shape_overrides *overrides, struct kiln_plan *plan)
{
    size_t word_count = count_words(overrides);
    struct kiln_plan_shape *fresh = calloc(1, sizeof *fresh + word_count * sizeof fresh->words[0]);
    if (!fresh)
        return;
    fresh->hash = hash;
    fresh->plan = kiln_plan_ref(plan);
    fresh->word_count = word_count;
    atomic_init(&fresh->used, atomic_fetch_add(&shapes->clock, 1));
    copy_words(overrides, fresh->words);
    /* A child of a fork may find the list half changed: what is in there leaks. */
    if (!kiln_process_mutex_lock(&shapes->lock))
        shapes->retired = NULL;
    if (!find(shapes, hash, overrides)) {
        struct kiln_plan_shape *old = atomic_exchange(choose_slot(shapes, hash), fresh);
        fresh = NULL;
        if (old) {
            old->next = shapes->retired;
            shapes->retired = old;
        }
    }
    struct kiln_plan_shape *retired = take_retired(shapes);
    kiln_process_mutex_unlock(&shapes->lock);
    destroy_shape(fresh);
    destroy_list(retired);
}

/* ---- new shapes ---- */

/* The fastest plan if its kernels are there, otherwise one of general kernels. If these are missing
 * too, the fastest ones are compiled. */
static enum kiln_status make_plan_of(const struct kiln_plan *plan, const struct kiln_graph *graph,
                                     struct kiln_plan **ret_plan, struct kiln_error *error)
{
    const uint64_t limit = kiln_plan_workspace_bytes(plan);
    struct kiln_lower_options fastest = plan->lower;
    struct kiln_error ignored;
    /* Fewer tiles may be split into more segments. Another plan may fit. */
    (void)!kiln_engine_limit_workspace(plan->engine, graph, plan->device, limit, &fastest,
                                       &ignored);
    enum kiln_status status =
        kiln_plan_find(plan->engine, graph, plan->device, &fastest, ret_plan, error);
    if (status != KILN_UNSUPPORTED)
        return status;
    struct kiln_lower_options general;
    kiln_error_init(&ignored);
    if (kiln_general_options(plan, &general) &&
        kiln_engine_limit_workspace(plan->engine, graph, plan->device, limit, &general, &ignored) ==
            KILN_OK &&
        kiln_plan_find(plan->engine, graph, plan->device, &general, ret_plan, &ignored) ==
            KILN_OK) {
        kiln_error_init(error);
        return KILN_OK;
    }
    kiln_error_init(error);
    return kiln_plan_make(plan->engine, graph, plan->device, &fastest, ret_plan, error);
}

static enum kiln_status make_plan(const struct kiln_plan *plan,
                                  const struct kiln_shape_overrides *overrides,
                                  struct kiln_plan **ret_plan, struct kiln_error *error)
{
    struct kiln_graph graph;
    struct kiln_arena arena;
    struct kiln_plan *made = NULL;
    kiln_arena_init(&arena);
    enum kiln_status status = kiln_graph_read_with_overrides(plan->graph, plan->graph_bytes,
                                                             overrides, &arena, &graph, error);
    if (status == KILN_REJECTED) { /* the host's shapes are at fault, and not the graph */
        error->status = status = KILN_BAD_ARGUMENT;
        kiln_error_prefix(error, "the override shapes do not fit together");
    }
    if (status == KILN_OK)
        status = make_plan_of(plan, &graph, &made, error);
    kiln_arena_fini(&arena);
    if (status == KILN_OK && kiln_plan_workspace_bytes(made) > kiln_plan_workspace_bytes(plan)) {
        status = kiln_error_set(error, KILN_UNSUPPORTED,
                                "these override shapes need %" PRIu64
                                " bytes of workspace, the declared ones %" PRIu64,
                                kiln_plan_workspace_bytes(made), kiln_plan_workspace_bytes(plan));
        kiln_plan_unref(made);
    }
    if (status == KILN_OK)
        *ret_plan = made;
    return status;
}

static enum kiln_status get_plan(const struct kiln_plan *plan,
                                 const struct kiln_shape_overrides *overrides,
                                 struct kiln_plan **ret_plan, struct kiln_error *error)
{
    uint64_t hash = hash_arrays(overrides);
    *ret_plan = find_plan(plan->shapes, hash, overrides);
    if (*ret_plan)
        return KILN_OK;
    enum kiln_status status = make_plan(plan, overrides, ret_plan, error);
    if (status)
        return status;
    add(plan->shapes, hash, overrides, *ret_plan);
    if ((*ret_plan)->origin == KILN_ORIGIN_COMPILED)
        kiln_log(KILN_LOG_INFO,
                 "graph '%.64s': kernels for override shapes were compiled at their "
                 "first execution",
                 plan->name);
    return KILN_OK;
}

enum kiln_status kiln_plan_execute_with_overrides(const struct kiln_plan *plan, kiln_stream stream,
                                                  void *workspace,
                                                  const struct kiln_buffer_binding *buffers,
                                                  uint32_t buffer_count,
                                                  const struct kiln_shape_overrides *overrides,
                                                  struct kiln_error *error)
{
    if (overrides->count == 0)
        return kiln_plan_execute(plan, stream, workspace, buffers, buffer_count, error);
    if (!plan->shapes)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "override shapes for a graph that was not built for them");
    struct kiln_plan *made = NULL;
    enum kiln_status status = check_arrays(overrides, error);
    if (status == KILN_OK)
        status = get_plan(plan, overrides, &made, error);
    if (status == KILN_OK)
        status = kiln_plan_execute(made, stream, workspace, buffers, buffer_count, error);
    kiln_plan_unref(made);
    return status;
}
