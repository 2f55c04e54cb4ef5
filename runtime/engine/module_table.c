#include "runtime/engine/module_table.h"

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
    for (uint32_t i = 0; i < loaded->program->program.kernel_count; i++) {
        if (loaded->kernels[i].module)
            loaded->device->ops->unload(loaded->device, loaded->kernels[i].module);
    }
    kiln_shared_program_unref(loaded->program);
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
    return kiln_object_table_create(&type, &table->loaded, error);
}

void kiln_module_table_fini(struct kiln_module_table *table)
{
    if (table->loaded)
        kiln_object_table_destroy(table->loaded);
}

/* Takes over the reference of `program`, also when it fails. */
static enum kiln_status load(struct kiln_device *device, struct kiln_shared_program *program,
                             struct kiln_loaded_program **ret_loaded, struct kiln_error *error)
{
    uint32_t count = program->program.kernel_count;
    struct kiln_loaded_program *loaded =
        calloc(1, sizeof(*loaded) + count * sizeof(loaded->kernels[0]));
    if (!loaded) {
        kiln_shared_program_unref(program);
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to load '%u' kernels", count);
    }
    atomic_init(&loaded->references, 1);
    loaded->device = device;
    loaded->program = program;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_compiled_kernel *kernel = &program->program.kernels[i];
        enum kiln_status status = device->ops->load(
            device, kernel->object.bytes, kernel->object.size, kernel->symbol, kernel->lds_bytes,
            kernel->uses_barrier, &loaded->kernels[i].module, &loaded->kernels[i].function, error);
        if (status) {
            destroy(loaded);
            return status;
        }
    }
    *ret_loaded = loaded;
    return KILN_OK;
}

struct load_request {
    struct kiln_module_table *table;
    const struct kiln_graph *graph;
    const struct kiln_engine_device *device;
    enum kiln_program_origin origin;
};

static enum kiln_status make_loaded(void *context, const struct kiln_cache_key *key,
                                    void **ret_object, struct kiln_error *error)
{
    (void)key;
    struct load_request *request = context;
    struct kiln_device *device = request->device->device;
    struct kiln_shared_program *program = NULL;
    enum kiln_status status = kiln_program_cache_get(
        request->table->programs, request->graph, &device->target,
        request->device->compiler_identity, &program, &request->origin, error);
    struct kiln_loaded_program *loaded = NULL;
    if (status == KILN_OK)
        status = load(device, program, &loaded, error);
    if (status == KILN_OK)
        *ret_object = loaded;
    return status;
}

enum kiln_status kiln_module_table_get(struct kiln_module_table *table,
                                       const struct kiln_graph *graph,
                                       const struct kiln_engine_device *device,
                                       struct kiln_loaded_program **ret_loaded,
                                       enum kiln_program_origin *ret_origin,
                                       struct kiln_error *error)
{
    struct load_request request = {table, graph, device, KILN_ORIGIN_MEMORY};
    struct kiln_cache_key key;
    kiln_cache_key_init(&key);
    enum kiln_status status = kiln_program_cache_append_key(
        table->programs, graph, &device->device->target, device->compiler_identity, &key, error);
    /* The kind is the same for all devices of an engine, so the ordinal tells them apart. */
    kiln_cache_key_add(&key, &device->device->ordinal, sizeof(device->device->ordinal));
    if (status == KILN_OK)
        status = kiln_cache_key_finish(&key, error);
    void *object = NULL;
    if (status == KILN_OK)
        status = kiln_object_table_get(table->loaded, &key, make_loaded, &request, &object, error);
    kiln_cache_key_fini(&key);
    if (status)
        return status;
    *ret_loaded = object;
    *ret_origin = request.origin;
    return KILN_OK;
}
