#include "runtime/engine/kernel_modules.h"

#include <stdlib.h>

static void ref_loaded(void *object)
{
    struct kiln_loaded_kernel *loaded = object;
    atomic_fetch_add_explicit(&loaded->references, 1, memory_order_relaxed);
}

static void unref_loaded(void *object)
{
    struct kiln_loaded_kernel *loaded = object;
    if (atomic_fetch_sub_explicit(&loaded->references, 1, memory_order_acq_rel) != 1)
        return;
    if (loaded->module)
        loaded->device->ops->unload(loaded->device, loaded->module);
    kiln_shared_kernel_unref(loaded->kernel);
    free(loaded);
}

static bool is_loaded_shared(void *object)
{
    struct kiln_loaded_kernel *loaded = object;
    return atomic_load_explicit(&loaded->references, memory_order_relaxed) > 1;
}

enum kiln_status kiln_kernel_modules_init(struct kiln_kernel_modules *modules,
                                          struct kiln_error *error)
{
    static const struct kiln_object_type type = {ref_loaded, unref_loaded, is_loaded_shared};
    return kiln_object_table_create(&type, &modules->loaded, error);
}

void kiln_kernel_modules_fini(struct kiln_kernel_modules *modules)
{
    kiln_object_table_destroy(modules->loaded);
}

struct load_request {
    struct kiln_device *device;
    struct kiln_shared_kernel *kernel;
};

static enum kiln_status load(void *context, const struct kiln_cache_key *key, void **ret_object,
                             struct kiln_error *error)
{
    const struct load_request *request = context;
    const struct kiln_shared_kernel *kernel = request->kernel;
    struct kiln_loaded_kernel *loaded = calloc(1, sizeof(*loaded));
    (void)key;
    if (!loaded)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to load kernel '%s'",
                              kernel->symbol);
    atomic_init(&loaded->references, 1);
    loaded->device = request->device;
    loaded->kernel = kiln_shared_kernel_ref(request->kernel);
    enum kiln_status status = request->device->ops->load(
        request->device, kernel->object.bytes, kernel->object.size, kernel->symbol,
        kernel->lds_bytes, kernel->uses_barrier, &loaded->module, &loaded->function, error);
    if (status)
        unref_loaded(loaded);
    else
        *ret_object = loaded;
    return status;
}

static enum kiln_status make_key(const struct kiln_device *device,
                                 const struct kiln_shared_kernel *kernel,
                                 struct kiln_cache_key *key, struct kiln_error *error)
{
    kiln_cache_key_init(key);
    kiln_cache_key_add(key, kernel->key.bytes.data, kernel->key.bytes.size);
    /* The kind is the same for all devices of an engine, so the ordinal tells them apart. */
    kiln_cache_key_add(key, &device->ordinal, sizeof(device->ordinal));
    /* What is compiled instead of a refused kernel does not share the refusal. */
    kiln_cache_key_add(key, &kernel->was_compiled_here, sizeof(kernel->was_compiled_here));
    return kiln_cache_key_finish(key, error);
}

enum kiln_status kiln_kernel_modules_get(struct kiln_kernel_modules *modules,
                                         struct kiln_device *device,
                                         struct kiln_shared_kernel *kernel,
                                         struct kiln_loaded_kernel **ret_loaded,
                                         struct kiln_error *error)
{
    struct load_request request = {device, kernel};
    struct kiln_cache_key key;
    void *object = NULL;
    enum kiln_status status = make_key(device, kernel, &key, error);
    if (status == KILN_OK)
        status = kiln_object_table_get(modules->loaded, &key, load, &request, &object, error);
    kiln_cache_key_fini(&key);
    if (status == KILN_OK)
        *ret_loaded = object;
    return status;
}

void kiln_kernel_modules_release(struct kiln_kernel_modules *modules,
                                 struct kiln_loaded_kernel *loaded)
{
    enum { OURS_AND_THE_TABLES = 2 };
    struct kiln_error ignored;
    struct kiln_cache_key key;
    if (!loaded)
        return;
    kiln_error_init(&ignored);
    /* Two users that leave at once may both see the other, and the module stays until the table
     * goes or its place is needed. A user that comes at this moment keeps what it got, unshared. */
    if (atomic_load_explicit(&loaded->references, memory_order_acquire) <= OURS_AND_THE_TABLES) {
        if (make_key(loaded->device, loaded->kernel, &key, &ignored) == KILN_OK)
            kiln_object_table_drop(modules->loaded, &key, loaded);
        kiln_cache_key_fini(&key);
    }
    unref_loaded(loaded);
}
