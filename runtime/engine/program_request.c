/*
 * Requests for programs, and the form of their kernels.
 */
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/program_cache.h"
#include "runtime/engine/program_key.h"
#include "runtime/support/log.h"

/* Makes the request one for the program in this form. On failure it has no form. */
static enum kiln_status set_form(struct kiln_program_request *request, enum kiln_shapes shapes,
                                 struct kiln_error *error)
{
    struct kiln_lower_options lower = request->lower;
    lower.shapes = shapes;
    request->lower.shapes = KILN_SHAPES_AUTO;
    kiln_cache_key_fini(&request->key);
    kiln_cache_key_init(&request->key);
    enum kiln_status status = kiln_program_key_append(request->graph, request->scope.target, &lower,
                                                      &request->key, error);
    if (status == KILN_OK)
        status = kiln_cache_key_finish(&request->key, error);
    if (status == KILN_OK)
        request->lower.shapes = shapes;
    return status;
}

/* The name of the graph's computation on the target with the options: candidates of tuning are no
 * shapes that one kernel could serve. */
static enum kiln_status hash_computation(const struct kiln_program_request *request,
                                         struct kiln_hash128 *ret_hash, struct kiln_error *error)
{
    struct kiln_lower_options lower = request->lower;
    struct kiln_buffer text;
    lower.shapes = KILN_SHAPES_CONSTANT;
    kiln_buffer_init(&text);
    kiln_graph_append_computation(request->graph, &text);
    kiln_lower_options_append_key(&lower, &text);
    kiln_buffer_append_text(&text, request->scope.target->name);
    enum kiln_status status = kiln_buffer_check(&text, error);
    if (status == KILN_OK)
        *ret_hash = kiln_hash128(text.data, text.size);
    kiln_buffer_fini(&text);
    return status;
}

typedef enum kiln_status finder(struct kiln_program_request *request, struct kiln_error *error);

/* The form that `find` finds, other than `except`; AUTO excepts none. Leaves `ret_found` alone if
 * there is none. Fails only where the same call may succeed a moment later. The request has the
 * form that was tried last. */
static enum kiln_status find_form(struct kiln_program_request *request, finder *find,
                                  enum kiln_shapes except,
                                  const struct kiln_shape_choice **ret_found,
                                  struct kiln_error *error)
{
    static const struct kiln_shape_choice choices[] = {
        {KILN_SHAPES_CONSTANT, KILN_SHAPE_CACHED},
        {KILN_SHAPES_ARGUMENT, KILN_SHAPE_CACHED},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (choices[i].shapes == except)
            continue;
        enum kiln_status status = set_form(request, choices[i].shapes, error);
        if (status == KILN_OK)
            status = find(request, error);
        if (status == KILN_OK) {
            *ret_found = &choices[i];
            return KILN_OK;
        }
        if (kiln_status_may_pass(status))
            return status;
        kiln_error_init(error);
    }
    return KILN_OK;
}

/* Names the request's shape, whatever its form, and its computation. Sets the constant form. */
static enum kiln_status name_shape(struct kiln_program_request *request,
                                   struct kiln_hash128 *ret_shape,
                                   struct kiln_hash128 *ret_computation, struct kiln_error *error)
{
    enum kiln_status status = set_form(request, KILN_SHAPES_CONSTANT, error);
    if (status)
        return status;
    *ret_shape = (struct kiln_hash128){request->key.hash_high, request->key.hash_low};
    return hash_computation(request, ret_computation, error);
}

/* The form for a plan: one that is there already, or the one that the count of shapes says. */
static enum kiln_status choose_form(struct kiln_program_request *request, struct kiln_error *error)
{
    static const struct kiln_shape_choice kernels = {KILN_SHAPES_ARGUMENT, KILN_SHAPE_KERNELS};
    struct kiln_choice_table *choices = request->cache->choices;
    struct kiln_hash128 computation;
    struct kiln_hash128 shape;
    struct kiln_shape_choice choice = {KILN_SHAPES_CONSTANT, KILN_SHAPE_FIRST};
    enum kiln_status status = name_shape(request, &shape, &computation, error);
    if (status)
        return status;
    if (!kiln_choice_table_find(choices, shape, &choice)) {
        const struct kiln_shape_choice *found = NULL;
        bool may_compile = !request->cache->is_precompiled;
        status = find_form(request, kiln_program_cache_find, KILN_SHAPES_AUTO, &found, error);
        if (status == KILN_OK && !found &&
            (!may_compile || kiln_choice_table_is_early(choices, computation))) {
            /* The request has the argument form. */
            status = kiln_program_cache_find_all_kernels(request, error);
            found = status == KILN_OK ? &kernels : NULL;
            if (!kiln_status_may_pass(status))
                status = KILN_OK;
        }
        if (status)
            return status;
        kiln_error_init(error);
        /* Without a compiler nothing is settled: caches may have the kernels next time. */
        if (found || may_compile)
            choice = kiln_choice_table_settle(choices, computation, shape, found);
        if (choice.reason == KILN_SHAPE_LATER || choice.reason == KILN_SHAPE_KERNELS)
            kiln_log(KILN_LOG_INFO, "graph '%.64s' takes its sizes as arguments: %s",
                     request->graph->name, kiln_shape_reason_text(choice.reason));
    }
    request->reason = choice.reason;
    return request->lower.shapes == choice.shapes ? KILN_OK
                                                  : set_form(request, choice.shapes, error);
}

/* The form chosen before; without one, the constant form. */
static enum kiln_status recall_form(struct kiln_program_request *request, struct kiln_error *error)
{
    struct kiln_hash128 computation;
    struct kiln_hash128 shape;
    struct kiln_shape_choice choice = {KILN_SHAPES_CONSTANT, KILN_SHAPE_FIRST};
    enum kiln_status status = name_shape(request, &shape, &computation, error);
    if (status == KILN_OK && kiln_choice_table_find(request->cache->choices, shape, &choice))
        status = set_form(request, choice.shapes, error);
    request->reason = choice.reason;
    return status;
}

static enum kiln_status
init(struct kiln_program_cache *cache, const struct kiln_graph *graph,
     const struct kiln_target *target, const struct kiln_lower_options *lower,
     enum kiln_status (*choose)(struct kiln_program_request *request, struct kiln_error *error),
     struct kiln_program_request *ret_request, struct kiln_error *error)
{
    struct kiln_program_request request = {.cache = cache,
                                           .graph = graph,
                                           .lower = lower ? *lower : cache->lower,
                                           .reason = KILN_SHAPE_FORCED,
                                           .scope.target = target,
                                           .origin = KILN_ORIGIN_MEMORY};
    kiln_cache_key_init(&request.key);
    enum kiln_shapes forced = request.lower.shapes;
    /* Its kernels serve shapes to come. */
    if (forced == KILN_SHAPES_AUTO && graph->takes_overrides) {
        forced = KILN_SHAPES_ARGUMENT;
        request.reason = KILN_SHAPE_OVERRIDES;
    }
    enum kiln_status status =
        forced == KILN_SHAPES_AUTO ? choose(&request, error) : set_form(&request, forced, error);
    if (status)
        kiln_program_request_fini(&request);
    else
        *ret_request = request;
    return status;
}

enum kiln_status
kiln_program_request_init(struct kiln_program_cache *cache, const struct kiln_graph *graph,
                          const struct kiln_target *target, const struct kiln_lower_options *lower,
                          struct kiln_program_request *ret_request, struct kiln_error *error)
{
    return init(cache, graph, target, lower, choose_form, ret_request, error);
}

enum kiln_status
kiln_program_request_peek(struct kiln_program_cache *cache, const struct kiln_graph *graph,
                          const struct kiln_target *target, const struct kiln_lower_options *lower,
                          struct kiln_program_request *ret_request, struct kiln_error *error)
{
    return init(cache, graph, target, lower, recall_form, ret_request, error);
}

enum kiln_status kiln_program_request_find(struct kiln_program_request *request, finder *find,
                                           struct kiln_error *error)
{
    const enum kiln_shapes shapes = request->lower.shapes;
    const struct kiln_shape_choice *found = NULL;
    struct kiln_hash128 computation;
    struct kiln_hash128 shape;
    enum kiln_status status = find(request, error);
    if (status == KILN_OK || kiln_status_may_pass(status) || request->reason == KILN_SHAPE_FORCED ||
        request->reason == KILN_SHAPE_OVERRIDES)
        return status;
    struct kiln_error second;
    kiln_error_init(&second);
    enum kiln_status other = find_form(request, find, shapes, &found, &second);
    if (other == KILN_OK && found) {
        other = name_shape(request, &shape, &computation, &second);
        if (other == KILN_OK)
            other = set_form(request, found->shapes, &second);
        if (other == KILN_OK)
            (void)kiln_choice_table_settle(request->cache->choices, computation, shape, found);
    } else if (other == KILN_OK) { /* the first answer stands */
        other = set_form(request, shapes, &second);
        if (other == KILN_OK)
            return status;
    }
    if (other)
        *error = second;
    else
        kiln_error_init(error);
    return other;
}

void kiln_program_request_fini(struct kiln_program_request *request)
{
    kiln_cache_key_fini(&request->key);
}

bool kiln_program_request_may_compile(const struct kiln_program_request *request)
{
    return !request->is_precompiled && !request->cache->is_precompiled;
}
