/* Loading kernels on a device that refuses some. */
#include "runtime/engine/kernel_modules.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

TestSuite(kernel_modules, .timeout = 20);

static sem_t is_loading, may_refuse;

/* Refuses code that starts with "bad", when it may. */
static enum kiln_status load(struct kiln_device *device, const void *code, size_t size,
                             const char *symbol, uint32_t lds_bytes, bool uses_barrier,
                             struct kiln_device_module **ret_module,
                             struct kiln_device_function **ret_function, struct kiln_error *error)
{
    (void)device;
    (void)size;
    (void)symbol;
    (void)lds_bytes;
    (void)uses_barrier;
    if (memcmp(code, "bad", 3) == 0) {
        sem_post(&is_loading);
        sem_wait(&may_refuse);
        return kiln_error_set(error, KILN_REFUSED, "refused");
    }
    *ret_module = NULL;
    *ret_function = NULL;
    return KILN_OK;
}

static const struct kiln_device_ops ops = {.name = "fake", .load = load};
static struct kiln_device device = {.ops = &ops};
static struct kiln_kernel_modules modules;

static struct kiln_shared_kernel *make_kernel(const char *code, bool was_compiled_here)
{
    struct kiln_shared_kernel *kernel = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_shared_kernel_create(&kernel, &error), KILN_OK);
    kiln_cache_key_add_text(&kernel->key, "kernel");
    cr_assert_eq(kiln_cache_key_finish(&kernel->key, &error), KILN_OK);
    kernel->symbol = strdup("symbol");
    kernel->object.bytes = (unsigned char *)strdup(code);
    kernel->object.size = strlen(code);
    kernel->was_compiled_here = was_compiled_here;
    return kernel;
}

static enum kiln_status get(struct kiln_shared_kernel *kernel)
{
    struct kiln_loaded_kernel *loaded = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_kernel_modules_get(&modules, &device, kernel, &loaded, &error);
    if (status == KILN_OK)
        kiln_kernel_modules_release(&modules, loaded);
    return status;
}

static void *load_refused(void *kernel)
{
    return get(kernel) == KILN_REFUSED ? kernel : NULL;
}

static void *refuse(void *unused)
{
    struct timespec pause = {.tv_nsec = 50000000};
    (void)unused;
    nanosleep(&pause, NULL);
    sem_post(&may_refuse);
    return NULL;
}

/* What was compiled instead of a refused kernel has the same key. */
Test(kernel_modules, a_new_kernel_does_not_wait_for_the_refused_one)
{
    struct kiln_error error;
    struct kiln_shared_kernel *cached = make_kernel("bad code", false);
    struct kiln_shared_kernel *fresh = make_kernel("good code", true);
    pthread_t loader, refuser;
    void *result = NULL;
    kiln_error_init(&error);
    sem_init(&is_loading, 0, 0);
    sem_init(&may_refuse, 0, 0);
    cr_assert_eq(kiln_kernel_modules_init(&modules, &error), KILN_OK);
    cr_assert_eq(pthread_create(&loader, NULL, load_refused, cached), 0);
    sem_wait(&is_loading);
    cr_assert_eq(pthread_create(&refuser, NULL, refuse, NULL), 0);
    cr_expect_eq(get(fresh), KILN_OK);
    pthread_join(refuser, NULL);
    pthread_join(loader, &result);
    cr_expect_eq(result, cached);
    kiln_kernel_modules_fini(&modules);
    kiln_shared_kernel_unref(cached);
    kiln_shared_kernel_unref(fresh);
}
