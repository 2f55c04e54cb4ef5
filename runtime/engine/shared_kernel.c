#include "runtime/engine/shared_kernel.h"

#include <stdlib.h>

enum kiln_status kiln_shared_kernel_create(struct kiln_shared_kernel **ret_kernel,
                                           struct kiln_error *error)
{
    struct kiln_shared_kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a 'kernel'");
    atomic_init(&kernel->references, 1);
    kiln_cache_key_init(&kernel->key);
    *ret_kernel = kernel;
    return KILN_OK;
}

struct kiln_shared_kernel *kiln_shared_kernel_ref(struct kiln_shared_kernel *kernel)
{
    atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
    return kernel;
}

void kiln_shared_kernel_unref(struct kiln_shared_kernel *kernel)
{
    if (!kernel || atomic_fetch_sub_explicit(&kernel->references, 1, memory_order_acq_rel) != 1)
        return;
    kiln_cache_key_fini(&kernel->key);
    free(kernel->symbol);
    free(kernel->object.bytes);
    free(kernel);
}

bool kiln_shared_kernel_has_code(const struct kiln_shared_kernel *kernel)
{
    return kernel->object.size != 0;
}

struct kiln_hash128 kiln_shared_kernel_name(const struct kiln_shared_kernel *kernel)
{
    return (struct kiln_hash128){.high = kernel->key.hash_high, .low = kernel->key.hash_low};
}
