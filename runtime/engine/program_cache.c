#include "runtime/engine/program_cache.h"

#include "cache/cache_warning.h"
#include "cache/compile_claim.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/compile_program.h"
#include "runtime/engine/kernel_key.h"
#include "runtime/engine/program_format.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"
#include "runtime/support/subprocess.h"
#include "runtime/support/version.h"

#include <inttypes.h>
#include <stdlib.h>

static void ref_program(void *object)
{
    kiln_shared_program_ref(object);
}

static void unref_program(void *object)
{
    kiln_shared_program_unref(object);
}

static bool is_program_shared(void *object)
{
    struct kiln_shared_program *program = object;
    return atomic_load_explicit(&program->references, memory_order_relaxed) > 1;
}

enum kiln_status kiln_program_cache_init(struct kiln_program_cache *cache,
                                         const struct kiln_cache_options *store_options,
                                         struct kiln_codegen *codegen,
                                         const struct kiln_lower_options *lower,
                                         struct kiln_error *error)
{
    static const struct kiln_object_type type = {ref_program, unref_program, is_program_shared};
    *cache = (struct kiln_program_cache){
        .store_options = *store_options,
        .codegen = codegen,
        .lower = *lower,
        .is_precompiled = kiln_environment_flag(KILN_ENVIRONMENT_KILN_ENFORCE_PRECOMPILED)};
    kiln_lowered_programs_init(&cache->lowered);
    cache->choices = kiln_choice_table_create();
    if (!cache->choices)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a 'program cache'");
    enum kiln_status status = kiln_kernel_cache_init(&cache->kernels, codegen, error);
    return status ? status : kiln_object_table_create(&type, &cache->programs, error);
}

void kiln_program_cache_fini(struct kiln_program_cache *cache)
{
    kiln_object_table_destroy(cache->programs);
    kiln_kernel_cache_fini(&cache->kernels);
    kiln_lowered_programs_fini(&cache->lowered);
    kiln_cache_store_close(cache->store);
    kiln_choice_table_destroy(cache->choices);
    kiln_miss_log_fini(&cache->misses);
}

enum kiln_status kiln_program_cache_store(struct kiln_program_cache *cache,
                                          struct kiln_cache_store **ret_store,
                                          struct kiln_error *error)
{
    struct kiln_cache_store *store = atomic_load(&cache->store);
    if (!store) {
        struct kiln_cache_store *fresh = NULL;
        enum kiln_status status = kiln_cache_store_open(&cache->store_options, &fresh, error);
        if (status)
            return status;
        if (atomic_compare_exchange_strong(&cache->store, &store, fresh))
            store = fresh;
        else /* another thread was faster */
            kiln_cache_store_close(fresh);
    }
    *ret_store = store;
    return KILN_OK;
}

/* Finds the compiler for the request's target and opens the store. Having no compiler is no
 * failure: the caches may have everything. */
static enum kiln_status open_scope(struct kiln_program_request *request, struct kiln_error *error)
{
    struct kiln_kernel_scope *scope = &request->scope;
    scope->may_compile = kiln_program_request_may_compile(request);
    scope->maker.build = kiln_version.text;
    enum kiln_status status = kiln_codegen_identity(request->cache->codegen, scope->target,
                                                    &scope->maker.compiler, error);
    if (status == KILN_UNSUPPORTED) {
        scope->maker.compiler = NULL;
        kiln_error_init(error);
    } else if (status) {
        return status;
    }
    return kiln_program_cache_store(request->cache, &scope->store, error);
}

static struct kiln_missing_program missing_program(const struct kiln_program_request *request)
{
    return (struct kiln_missing_program){request->graph, request->scope.target,
                                         &request->cache->lower};
}

/* The recipe alone. KILN_NOT_FOUND for a miss, which an entry that does not parse is too. */
static enum kiln_status read_recipe(const struct kiln_program_request *request,
                                    enum kiln_cache_reach reach,
                                    struct kiln_shared_program **ret_program,
                                    struct kiln_error *error)
{
    const struct kiln_kernel_scope *scope = &request->scope;
    const struct kiln_cache_query query = {
        .key = &request->key, .compiler = scope->maker.compiler, .reach = reach};
    struct kiln_cache_found found;
    enum kiln_status status = kiln_cache_store_find(scope->store, &query, &found, error);
    if (status)
        return status;
    status = kiln_program_format_read(found.view.payload, found.view.payload_bytes, request->graph,
                                      ret_program, error);
    if (status == KILN_OK)
        (*ret_program)->place = found.place;
    kiln_cache_found_fini(&found);
    if (status == KILN_CORRUPT) {
        kiln_log(KILN_LOG_WARN, "cache entry is not used: %s", error->text);
        return KILN_NOT_FOUND;
    }
    return status;
}

/*
 * The program of a recipe with all its kernels. Otherwise KILN_NOT_FOUND, with the recipe where
 * there is one, and those of its kernels that were found: the caller's, to complete.
 */
static enum kiln_status read_stored(const struct kiln_program_request *request,
                                    enum kiln_cache_reach reach,
                                    struct kiln_shared_program **ret_program,
                                    struct kiln_shared_program **ret_recipe,
                                    struct kiln_error *error)
{
    struct kiln_shared_program *program = NULL;
    enum kiln_status status = read_recipe(request, reach, &program, error);
    if (status)
        return status;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < program->program.kernel_count && !kiln_status_may_pass(status); i++) {
        struct kiln_shared_kernel *kernel = NULL;
        const struct kiln_compiled_kernel *recipe = &program->program.kernels[i];
        status = kiln_kernel_cache_find(&request->cache->kernels, &request->scope, recipe->name,
                                        recipe->symbol, &kernel, error);
        missing += status || !kiln_shared_program_attach(program, i, kernel);
        kiln_shared_kernel_unref(kernel);
    }
    if (missing == 0) {
        *ret_program = program;
        return KILN_OK;
    }
    if (kiln_status_may_pass(status)) {
        kiln_shared_program_unref(program);
        return status;
    }
    const struct kiln_missing_program incomplete = missing_program(request);
    kiln_miss_log_kernels(&incomplete, program, missing);
    kiln_shared_program_unref(*ret_recipe);
    *ret_recipe = program;
    return kiln_error_set(error, KILN_NOT_FOUND, "the cache has not all kernels of a program");
}

static void write_recipe(const struct kiln_program_request *request,
                         const struct kiln_shared_program *program)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_buffer payload;
    kiln_buffer_init(&payload);
    kiln_program_format_write(&program->program, &payload);
    enum kiln_status status = kiln_buffer_check(&payload, &error);
    if (status == KILN_OK)
        status = kiln_cache_store_insert(request->scope.store, &request->key, &request->scope.maker,
                                         payload.data, payload.size, &error);
    if (status)
        kiln_cache_warn_once("insert", error.text, "a compiled program is not cached: %s",
                             error.text);
    kiln_buffer_fini(&payload);
}

/* Of a new program, whose kernels are stored already: a recipe does not name what is not there. */
static void write_stored(const struct kiln_program_request *request,
                         const struct kiln_shared_program *program)
{
    write_recipe(request, program);
    for (uint32_t i = 0; i < program->program.kernel_count; i++)
        kiln_kernel_cache_follow(&request->scope, program->kernels[i],
                                 request->origin != KILN_ORIGIN_COMPILED);
}

/* The lowered program is taken from the table or made now. The caller owns it. */
static enum kiln_status lower(struct kiln_program_request *request,
                              struct kiln_lowered_program **ret_lowered, struct kiln_error *error)
{
    *ret_lowered = kiln_lowered_programs_take(&request->cache->lowered, &request->key);
    if (*ret_lowered)
        return KILN_OK;
    return kiln_lowered_program_create(&request->key, request->graph, request->scope.target,
                                       &request->lower, ret_lowered, error);
}

static enum kiln_status compile_as(struct kiln_program_request *request,
                                   const struct kiln_shared_program *recipe,
                                   const struct kiln_shared_kernel *refused,
                                   struct kiln_shared_program **ret_program,
                                   struct kiln_error *error)
{
    struct kiln_program_cache *cache = request->cache;
    struct kiln_lowered_program *lowered = NULL;
    enum kiln_status status = lower(request, &lowered, error);
    const struct kiln_compilation compilation = {.kernels = &cache->kernels,
                                                 .scope = &request->scope,
                                                 .graph = request->graph,
                                                 .lowered = lowered,
                                                 .recipe = recipe,
                                                 .refused = refused};
    if (status == KILN_OK)
        status = kiln_compile_program(&compilation, ret_program, &request->origin, error);
    kiln_lowered_program_free(lowered);
    return status;
}

/* With a recipe: what it has is completed. One that does not fit what lowering makes is dropped. */
static enum kiln_status compile(struct kiln_program_request *request,
                                const struct kiln_shared_program *recipe,
                                struct kiln_shared_program **ret_program, struct kiln_error *error)
{
    enum kiln_status status = compile_as(request, recipe, NULL, ret_program, error);
    if (status != KILN_NOT_FOUND)
        return status;
    kiln_log(KILN_LOG_WARN, "cache entry is not used: %s", error->text);
    kiln_error_init(error);
    return compile_as(request, NULL, NULL, ret_program, error);
}

/* After a miss: waits for another process that compiles the same, else compiles and stores. */
static enum kiln_status compile_once(struct kiln_program_request *request,
                                     struct kiln_shared_program **recipe,
                                     struct kiln_shared_program **ret_program,
                                     struct kiln_error *error)
{
    struct kiln_compile_claim claim;
    enum kiln_status status = KILN_NOT_FOUND;
    if (!request->scope.may_compile) {
        kiln_error_init(error);
        return compile(request, *recipe, ret_program, error);
    }
    kiln_compile_claim_open(&claim, request->scope.store, &request->key,
                            kiln_cache_compiler_mark(request->scope.maker.compiler));
    uint64_t deadline = kiln_monotonic_milliseconds() + KILN_CLAIM_WAIT_MILLISECONDS;
    /* Where the recipe is there nobody waits for it: its kernels have claims of their own. */
    enum kiln_claim claimed = *recipe ? KILN_CLAIM_NONE : kiln_compile_claim_take(&claim, deadline);
    /* A claim that was taken, at once or from an owner that died, may have had an owner before,
     * which has put the program into the directory since the lookup; layers and the shared tier
     * were asked before. */
    if (claimed != KILN_CLAIM_NONE)
        status = read_stored(
            request, claimed == KILN_CLAIM_TAKEN ? KILN_CACHE_OWN_DIRECTORY : KILN_CACHE_SHIPPED,
            ret_program, recipe, error);
    if (status == KILN_NOT_FOUND) {
        kiln_error_init(error);
        status = compile(request, *recipe, ret_program, error);
        if (status == KILN_OK)
            write_stored(request, *ret_program);
    }
    kiln_compile_claim_close(&claim);
    return status;
}

/* Takes the program from the caches, or compiles it if the scope permits. */
static enum kiln_status make(struct kiln_program_request *request,
                             struct kiln_shared_program **ret_program, struct kiln_error *error)
{
    struct kiln_shared_program *recipe = NULL;
    request->origin = KILN_ORIGIN_DISK;
    enum kiln_status status =
        read_stored(request, request->scope.may_compile ? KILN_CACHE_SHIPPED : KILN_CACHE_ALL,
                    ret_program, &recipe, error);
    /* What was lowered for a program that a cache turned out to have is of no use. */
    if (status == KILN_OK)
        kiln_lowered_program_free(
            kiln_lowered_programs_take(&request->cache->lowered, &request->key));
    if (status == KILN_NOT_FOUND && !recipe && !request->is_miss_told) {
        const struct kiln_missing_program missing = missing_program(request);
        kiln_miss_log_program(&request->cache->misses, request->scope.store, &missing);
    }
    request->is_miss_told = true;
    if (status == KILN_NOT_FOUND)
        status = compile_once(request, &recipe, ret_program, error);
    kiln_shared_program_unref(recipe);
    return status;
}

void kiln_program_cache_tell_miss(const struct kiln_graph *graph, struct kiln_error *error)
{
    struct kiln_hash128 hash;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    /* Captures and reports call a graph by this hash. */
    if (kiln_graph_hash(graph, &hash, &ignored) == KILN_OK)
        kiln_error_prefix(error, "no cache has all kernels of graph '%016" PRIx64 "%016" PRIx64 "'",
                          hash.high, hash.low);
}

/* KILN_UNSUPPORTED, with a sentence that names graph and target. */
static enum kiln_status decline_miss(const struct kiln_program_request *request,
                                     struct kiln_error *error)
{
    if (request->cache->is_precompiled) {
        (void)kiln_error_set(error, KILN_UNSUPPORTED,
                             "KILN_ENFORCE_PRECOMPILED forbids to compile them for target '%s'",
                             request->scope.target->name);
        kiln_error_hint(error, "'kiln compile' makes them; KILN_CACHE_LAYERS names packs of them");
    }
    kiln_program_cache_tell_miss(request->graph, error);
    return error->status;
}

static enum kiln_status make_program(void *context, const struct kiln_cache_key *key,
                                     void **ret_object, struct kiln_error *error)
{
    (void)key;
    struct kiln_program_request *request = context;
    struct kiln_shared_program *program = NULL;
    request->was_made = true;
    enum kiln_status status = open_scope(request, error);
    if (status == KILN_SHORTAGE) { /* the next program asks for the store again */
        kiln_error_init(error);
        status = compile(request, NULL, &program, error);
        if (status == KILN_OK)
            *ret_object = program;
        return status;
    }
    if (status)
        return status;
    status = make(request, &program, error);
    /* The compilers that are here do not serve the target, or cannot be started: then what others
     * have made in the directory is better than nothing. */
    if (status == KILN_UNSUPPORTED && request->scope.may_compile) {
        struct kiln_error second;
        kiln_error_init(&second);
        request->scope.may_compile = false;
        status = make(request, &program, &second);
        if (status && kiln_status_may_pass(status))
            *error = second;
        else if (status)
            status = error->status;
    }
    if (status == KILN_UNSUPPORTED)
        status = decline_miss(request, error);
    if (status == KILN_OK)
        *ret_object = program;
    return status;
}

static enum kiln_status give_program(void *context, const struct kiln_cache_key *key,
                                     void **ret_object, struct kiln_error *error)
{
    (void)key;
    (void)error;
    struct kiln_shared_program *program = context;
    *ret_object = kiln_shared_program_ref(program);
    return KILN_OK;
}

enum kiln_status kiln_program_cache_find(struct kiln_program_request *request,
                                         struct kiln_error *error)
{
    struct kiln_object_table *programs = request->cache->programs;
    void *object = kiln_object_table_find(programs, &request->key);
    if (object) {
        kiln_shared_program_unref(object);
        return KILN_OK;
    }
    struct kiln_shared_program *program = NULL;
    struct kiln_shared_program *recipe = NULL;
    enum kiln_status status = open_scope(request, error);
    if (status == KILN_OK)
        status =
            read_stored(request, request->scope.may_compile ? KILN_CACHE_SHIPPED : KILN_CACHE_ALL,
                        &program, &recipe, error);
    kiln_shared_program_unref(recipe);
    if (status)
        return status;
    request->origin = KILN_ORIGIN_DISK;
    status = kiln_object_table_get(programs, &request->key, give_program, program, &object, error);
    kiln_shared_program_unref(program);
    if (status == KILN_OK)
        kiln_shared_program_unref(object);
    return status;
}

enum kiln_status kiln_program_cache_find_all_kernels(struct kiln_program_request *request,
                                                     struct kiln_error *error)
{
    struct kiln_program_cache *cache = request->cache;
    struct kiln_lowered_program *lowered = NULL;
    enum kiln_status status = open_scope(request, error);
    if (status == KILN_OK)
        status = lower(request, &lowered, error);
    for (uint32_t i = 0; status == KILN_OK && i < lowered->program.kernel_count; i++) {
        const struct kiln_kernel *source = &lowered->program.kernels[i];
        struct kiln_shared_kernel *kernel = NULL;
        struct kiln_cache_key key;
        status = kiln_kernel_key_make(source, request->scope.target, &key, error);
        const struct kiln_hash128 name = {.high = key.hash_high, .low = key.hash_low};
        if (status == KILN_OK)
            status = kiln_kernel_cache_find(&cache->kernels, &request->scope, name, source->symbol,
                                            &kernel, error);
        kiln_cache_key_fini(&key);
        kiln_shared_kernel_unref(kernel);
    }
    if (status == KILN_OK)
        kiln_lowered_programs_put(&cache->lowered, lowered);
    else
        kiln_lowered_program_free(lowered);
    return status;
}

enum kiln_status kiln_program_cache_workspace_bytes(struct kiln_program_request *request,
                                                    uint64_t *ret_bytes, struct kiln_error *error)
{
    struct kiln_program_cache *cache = request->cache;
    struct kiln_shared_program *program = kiln_object_table_find(cache->programs, &request->key);
    if (program) {
        *ret_bytes = program->program.workspace_bytes;
        kiln_shared_program_unref(program);
        return KILN_OK;
    }
    struct kiln_lowered_program *lowered = NULL;
    enum kiln_status status = lower(request, &lowered, error);
    if (status)
        return status;
    *ret_bytes = lowered->program.workspace_bytes;
    kiln_lowered_programs_put(&cache->lowered, lowered);
    return KILN_OK;
}

/* The program of the table, or what `maker` makes of `context`. */
static enum kiln_status get_from(struct kiln_program_request *request, kiln_object_maker maker,
                                 void *context, struct kiln_shared_program **ret_program,
                                 struct kiln_error *error)
{
    void *object = NULL;
    enum kiln_status status;
    request->was_made = false;
    /* Again when the thread that was waited for may have been one that compiles nothing. */
    do {
        kiln_error_init(error);
        status = kiln_object_table_get(request->cache->programs, &request->key, maker, context,
                                       &object, error);
    } while (status == KILN_UNSUPPORTED && !request->was_made &&
             kiln_program_request_may_compile(request));
    if (status == KILN_OK)
        *ret_program = object;
    return status;
}

enum kiln_status kiln_program_cache_get(struct kiln_program_request *request,
                                        struct kiln_shared_program **ret_program,
                                        struct kiln_error *error)
{
    return get_from(request, make_program, request, ret_program, error);
}

enum kiln_status kiln_program_cache_find_kernels(struct kiln_program_request *request,
                                                 struct kiln_error *error)
{
    struct kiln_shared_program *program = NULL;
    request->is_precompiled = true;
    enum kiln_status status = kiln_program_cache_get(request, &program, error);
    kiln_shared_program_unref(program);
    return status;
}

struct replacement {
    struct kiln_program_request *request;
    const struct kiln_shared_program *refused;
    uint32_t kernel;
};

static enum kiln_status replace_program(void *context, const struct kiln_cache_key *key,
                                        void **ret_object, struct kiln_error *error)
{
    (void)key;
    const struct replacement *replacement = context;
    struct kiln_shared_program *program = NULL;
    replacement->request->was_made = true;
    enum kiln_status status = open_scope(replacement->request, error);
    if (status && status != KILN_SHORTAGE)
        return status;
    kiln_error_init(error);
    status = compile_as(replacement->request, replacement->refused,
                        replacement->refused->kernels[replacement->kernel], &program, error);
    if (status == KILN_OK)
        *ret_object = program;
    return status;
}

enum kiln_status kiln_program_cache_replace(struct kiln_program_request *request,
                                            const struct kiln_shared_program *refused,
                                            uint32_t kernel,
                                            struct kiln_shared_program **ret_program,
                                            struct kiln_error *error)
{
    struct replacement replacement = {request, refused, kernel};
    kiln_object_table_drop(request->cache->programs, &request->key, refused);
    return get_from(request, replace_program, &replacement, ret_program, error);
}

void kiln_program_cache_keep(struct kiln_program_request *request,
                             const struct kiln_shared_program *program, uint32_t kernel)
{
    struct kiln_error error;
    kiln_error_init(&error);
    if (open_scope(request, &error) != KILN_OK)
        return;
    kiln_kernel_cache_keep(&request->scope, program->kernels[kernel]);
    write_recipe(request, program);
    kiln_kernel_cache_follow(&request->scope, program->kernels[kernel], false);
}
