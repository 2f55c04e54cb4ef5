#include "runtime/engine/module_table.h"

#include "runtime/support/log.h"

#include <stdlib.h>

static void ref_loaded(void *object)
{
    struct kiln_loaded_program *loaded = object;
    atomic_fetch_add_explicit(&loaded->references, 1, memory_order_relaxed);
}

static void unref_loaded(void *object)
{
    kiln_loaded_program_unref(object);
}

static bool is_loaded_shared(void *object)
{
    struct kiln_loaded_program *loaded = object;
    return atomic_load_explicit(&loaded->references, memory_order_relaxed) > 1;
}

static void destroy(struct kiln_loaded_program *loaded)
{
    uint32_t count = loaded->program ? loaded->program->program.kernel_count : 0;
    for (uint32_t i = 0; i < count; i++)
        kiln_kernel_modules_release(loaded->modules, loaded->kernels[i]);
    kiln_shared_program_unref(loaded->program);
    free(loaded->refusal);
    free(loaded);
}

void kiln_loaded_program_unref(struct kiln_loaded_program *loaded)
{
    if (loaded && atomic_fetch_sub_explicit(&loaded->references, 1, memory_order_acq_rel) == 1)
        destroy(loaded);
}

enum kiln_status kiln_module_table_init(struct kiln_module_table *table,
                                        struct kiln_program_cache *programs,
                                        struct kiln_error *error)
{
    static const struct kiln_object_type type = {ref_loaded, unref_loaded, is_loaded_shared};
    *table = (struct kiln_module_table){.programs = programs};
    enum kiln_status status = kiln_kernel_modules_init(&table->modules, error);
    return status ? status : kiln_object_table_create(&type, &table->loaded, error);
}

void kiln_module_table_fini(struct kiln_module_table *table)
{
    kiln_object_table_destroy(table->loaded);
    kiln_kernel_modules_fini(&table->modules);
}

/* The result has a reference of its own to `program`. `ret_failed`: the kernel that failed. */
static enum kiln_status load(struct kiln_module_table *table, struct kiln_device *device,
                             struct kiln_shared_program *program,
                             struct kiln_loaded_program **ret_loaded, uint32_t *ret_failed,
                             struct kiln_error *error)
{
    uint32_t count = program->program.kernel_count;
    struct kiln_loaded_program *loaded =
        calloc(1, sizeof(*loaded) + count * sizeof(loaded->kernels[0]));
    if (!loaded)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to load %u kernels", count);
    atomic_init(&loaded->references, 1);
    loaded->device = device;
    loaded->modules = &table->modules;
    loaded->program = kiln_shared_program_ref(program);
    for (uint32_t i = 0; i < count; i++) {
        enum kiln_status status = kiln_kernel_modules_get(
            &table->modules, device, program->kernels[i], &loaded->kernels[i], error);
        if (status) {
            destroy(loaded);
            *ret_failed = i;
            return status;
        }
    }
    *ret_loaded = loaded;
    return KILN_OK;
}

enum kiln_status kiln_module_table_load(struct kiln_module_table *table, struct kiln_device *device,
                                        struct kiln_shared_program *program,
                                        struct kiln_loaded_program **ret_loaded,
                                        struct kiln_error *error)
{
    uint32_t failed;
    return load(table, device, program, ret_loaded, &failed, error);
}

struct load_request {
    struct kiln_module_table *table;
    struct kiln_device *device;
    struct kiln_program_request program;
    bool was_made; /* by this thread, and not one that it waited for */
};

/* True if the code object is at fault, and not the machine's memory or files or the state the
 * device is in. */
static bool is_refusal(enum kiln_status status)
{
    return status != KILN_OK && !kiln_status_may_pass(status) && status != KILN_IO &&
           status != KILN_DEVICE;
}

/*
 * In the place of a program with a kernel that the device refuses, and `error` says why: one for
 * which that kernel was compiled just now. It is stored only once it is loaded: where the device
 * refuses that too, what the cache has may be good for another driver or machine. `program` is
 * replaced, and then one kernel more of it may be refused.
 */
static enum kiln_status load_anew(struct load_request *request,
                                  struct kiln_shared_program **program, uint32_t *refused,
                                  struct kiln_loaded_program **ret_loaded, struct kiln_error *error)
{
    enum kiln_status status = error->status;
    uint32_t index = *refused;
    kiln_log(KILN_LOG_WARN, "a cached kernel is refused and compiled again: %s", error->text);
    struct kiln_error second;
    kiln_error_init(&second);
    struct kiln_shared_program *fresh = NULL;
    enum kiln_status compiled =
        kiln_program_cache_replace(&request->program, *program, index, &fresh, &second);
    if (compiled == KILN_NO_MEMORY) {
        *error = second;
        return compiled;
    }
    if (compiled) {
        kiln_error_hint(error, "the code object came from a cache, and making another failed: %s",
                        second.text);
        return status;
    }
    kiln_shared_program_unref(*program);
    *program = fresh;
    request->program.origin = KILN_ORIGIN_COMPILED;
    kiln_error_init(error);
    status = load(request->table, request->device, fresh, ret_loaded, refused, error);
    if (status == KILN_OK || *refused != index)
        kiln_program_cache_keep(&request->program, fresh, index);
    return status;
}

/* What the table remembers of a refusal. */
static enum kiln_status remember_refusal(struct kiln_device *device,
                                         struct kiln_loaded_program **ret_loaded,
                                         struct kiln_error *error)
{
    struct kiln_loaded_program *refused = calloc(1, sizeof(*refused));
    struct kiln_error *refusal = malloc(sizeof(*refusal));
    if (!refused || !refusal) {
        free(refused);
        free(refusal);
        return error->status;
    }
    kiln_error_hint(error, "plans of this graph are declined until the process ends");
    *refusal = *error;
    atomic_init(&refused->references, 1);
    refused->device = device;
    refused->refusal = refusal;
    *ret_loaded = refused;
    return KILN_OK;
}

static enum kiln_status make_loaded(void *context, const struct kiln_cache_key *key,
                                    void **ret_object, struct kiln_error *error)
{
    (void)key;
    struct load_request *request = context;
    struct kiln_device *device = request->device;
    struct kiln_shared_program *program = NULL;
    request->was_made = true;
    enum kiln_status status = kiln_program_cache_get(&request->program, &program, error);
    if (status)
        return status;
    struct kiln_loaded_program *loaded = NULL;
    uint32_t refused = 0;
    status = load(request->table, device, program, &loaded, &refused, error);
    /* Each kernel at most once: what took its place was compiled here. A request that only looks
     * compiles nothing, and leaves the kernel to one that may. */
    bool only_looks = request->program.is_precompiled;
    bool is_final = only_looks;
    while (is_refusal(status) && !is_final && !program->kernels[refused]->was_compiled_here) {
        const struct kiln_shared_program *before = program;
        status = load_anew(request, &program, &refused, &loaded, error);
        is_final = program == before; /* there is no other */
    }
    if (is_refusal(status) && only_looks)
        status = error->status = KILN_UNSUPPORTED;
    else if (is_refusal(status))
        status = remember_refusal(device, &loaded, error);
    kiln_shared_program_unref(program);
    if (status == KILN_OK)
        *ret_object = loaded;
    return status;
}

/* The key of a loaded program is the program's key and the device's ordinal. The ordinal is enough
 * because all devices of an engine have the same kind. */
static enum kiln_status get_loaded(struct load_request *request,
                                   struct kiln_loaded_program **ret_loaded,
                                   struct kiln_error *error)
{
    const struct kiln_buffer *program = &request->program.key.bytes;
    int ordinal = request->device->ordinal;
    struct kiln_cache_key key;
    void *object = NULL;
    kiln_cache_key_init(&key);
    kiln_buffer_append(&key.bytes, program->data, program->size);
    kiln_cache_key_add(&key, &ordinal, sizeof ordinal);
    enum kiln_status status = kiln_cache_key_finish(&key, error);
    bool is_final = status != KILN_OK;
    while (!is_final) {
        kiln_error_init(error);
        status = kiln_object_table_get(request->table->loaded, &key, make_loaded, request, &object,
                                       error);
        /* Again when the thread that was waited for may have been one that compiles nothing. */
        is_final = status != KILN_UNSUPPORTED || request->was_made ||
                   !kiln_program_request_may_compile(&request->program);
    }
    kiln_cache_key_fini(&key);
    if (status == KILN_OK)
        *ret_loaded = object;
    return status;
}

static enum kiln_status get(struct kiln_module_table *table, const struct kiln_graph *graph,
                            const struct kiln_engine_device *device,
                            const struct kiln_lower_options *lower, bool may_compile,
                            struct kiln_loaded_program **ret_loaded,
                            enum kiln_program_origin *ret_origin, struct kiln_error *error)
{
    struct load_request request = {.table = table, .device = device->device};
    struct kiln_loaded_program *loaded = NULL;
    enum kiln_status status = kiln_program_request_init(
        table->programs, graph, &device->device->target, lower, &request.program, error);
    if (status)
        return status;
    request.program.is_precompiled = !may_compile;
    request.program.is_miss_told = !may_compile;
    status = get_loaded(&request, &loaded, error);
    kiln_program_request_fini(&request.program);
    if (status)
        return status;
    if (loaded->refusal) {
        *error = *loaded->refusal;
        kiln_loaded_program_unref(loaded);
        return error->status;
    }
    *ret_loaded = loaded;
    *ret_origin = request.program.origin;
    return KILN_OK;
}

enum kiln_status kiln_module_table_get(struct kiln_module_table *table,
                                       const struct kiln_graph *graph,
                                       const struct kiln_engine_device *device,
                                       const struct kiln_lower_options *lower,
                                       struct kiln_loaded_program **ret_loaded,
                                       enum kiln_program_origin *ret_origin,
                                       struct kiln_error *error)
{
    return get(table, graph, device, lower, true, ret_loaded, ret_origin, error);
}

enum kiln_status kiln_module_table_find(struct kiln_module_table *table,
                                        const struct kiln_graph *graph,
                                        const struct kiln_engine_device *device,
                                        const struct kiln_lower_options *lower,
                                        struct kiln_loaded_program **ret_loaded,
                                        enum kiln_program_origin *ret_origin,
                                        struct kiln_error *error)
{
    return get(table, graph, device, lower, false, ret_loaded, ret_origin, error);
}
