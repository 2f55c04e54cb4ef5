/* longjmp between stacks is what fibers are made of; the fortified one takes it for a mistake. */
#undef _FORTIFY_SOURCE

#include "runtime/device/host_fiber.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WITH_ADDRESS_SANITIZER 1
#else
#define WITH_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define WITH_THREAD_SANITIZER 1
#else
#define WITH_THREAD_SANITIZER 0
#endif

/* Address space of one stack; memory is taken only for the pages that are touched. Kernels do not
 * recurse, and the largest keep a few KiB of vectors per value alive even when compiled for
 * sanitizers. */
#define STACK_BYTES ((size_t)256 << 10)

struct fiber {
    jmp_buf state; /* where it was suspended, once it is started */
    bool is_started;
    bool is_running; /* the body has begun and not ended */
    void *fake_stack;
    void *thread_sanitizer_fiber;
};

struct kiln_fiber_set {
    uint32_t count;
    struct fiber *fibers;
    unsigned char *stacks;
    ucontext_t
        entry; /* of the fiber that is being started; on no stack, because it is left for good */
    /* The resume that is going on. */
    jmp_buf resumer;
    kiln_fiber_body *body;
    void *context;
    bool is_ending;
    void *resumer_fake_stack;
    const void *resumer_stack;
    size_t resumer_stack_bytes;
    void *resumer_thread_sanitizer_fiber;
};

static unsigned char *stack_of(const struct kiln_fiber_set *set, uint32_t index)
{
    return set->stacks + (size_t)index * STACK_BYTES;
}

/* Before and after a switch to a fiber, on the resumer's side. */
static void before_resume(struct kiln_fiber_set *set, uint32_t index)
{
#if WITH_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&set->resumer_fake_stack, stack_of(set, index), STACK_BYTES);
#endif
#if WITH_THREAD_SANITIZER
    struct fiber *fiber = &set->fibers[index];
    if (fiber->thread_sanitizer_fiber == NULL)
        fiber->thread_sanitizer_fiber = __tsan_create_fiber(0);
    set->resumer_thread_sanitizer_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->thread_sanitizer_fiber, 0);
#endif
    (void)set;
    (void)index;
}

static void after_resume(struct kiln_fiber_set *set)
{
#if WITH_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(set->resumer_fake_stack, NULL, NULL);
#endif
    (void)set;
}

/* Before and after a switch back, on the fiber's side; `fake_stack` is NULL when it never comes
 * back. */
static void before_return(struct kiln_fiber_set *set, void **fake_stack)
{
#if WITH_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(fake_stack, set->resumer_stack, set->resumer_stack_bytes);
#endif
#if WITH_THREAD_SANITIZER
    __tsan_switch_to_fiber(set->resumer_thread_sanitizer_fiber, 0);
#endif
    (void)set;
    (void)fake_stack;
}

static void after_return(struct kiln_fiber_set *set, void *fake_stack)
{
#if WITH_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(fake_stack, &set->resumer_stack, &set->resumer_stack_bytes);
#endif
    (void)set;
    (void)fake_stack;
}

void kiln_fiber_suspend(struct kiln_fiber_set *set, uint32_t index)
{
    struct fiber *fiber = &set->fibers[index];
    before_return(set, &fiber->fake_stack);
    if (_setjmp(fiber->state) == 0)
        _longjmp(set->resumer, 1);
    after_return(set, fiber->fake_stack);
}

/* What runs on a stack: one body after the other, until the set is destroyed. */
static _Noreturn void run_fiber(struct kiln_fiber_set *set, uint32_t index)
{
    struct fiber *fiber = &set->fibers[index];
    after_return(set, NULL);
    while (!set->is_ending) {
        set->body(set->context, index);
        fiber->is_running = false;
        kiln_fiber_suspend(set, index);
    }
    before_return(set, NULL);
    _longjmp(set->resumer, 1);
}

/* makecontext passes ints only. */
static void fiber_entry(unsigned set_low, unsigned set_high, unsigned index)
{
    run_fiber((struct kiln_fiber_set *)((uintptr_t)set_low | (uintptr_t)set_high << 16 << 16),
              index);
}

static _Noreturn void start_fiber(struct kiln_fiber_set *set, uint32_t index)
{
    getcontext(&set->entry);
    set->entry.uc_stack.ss_sp = stack_of(set, index);
    set->entry.uc_stack.ss_size = STACK_BYTES;
    set->entry.uc_link = NULL;
    makecontext(&set->entry, (void (*)(void))fiber_entry, 3, (unsigned)(uintptr_t)set,
                (unsigned)((uintptr_t)set >> 16 >> 16), index);
    setcontext(&set->entry);
    abort(); /* setcontext only returns for a context that is no context */
}

static void switch_to(struct kiln_fiber_set *set, uint32_t index)
{
    struct fiber *fiber = &set->fibers[index];
    before_resume(set, index);
    if (_setjmp(set->resumer) == 0) {
        if (fiber->is_started)
            _longjmp(fiber->state, 1);
        fiber->is_started = true;
        start_fiber(set, index);
    }
    after_resume(set);
}

bool kiln_fiber_resume(struct kiln_fiber_set *set, uint32_t index, kiln_fiber_body *body,
                       void *context)
{
    set->body = body;
    set->context = context;
    set->fibers[index].is_running = true;
    switch_to(set, index);
    return !set->fibers[index].is_running;
}

enum kiln_status kiln_fiber_set_create(uint32_t count, struct kiln_fiber_set **ret_set,
                                       struct kiln_error *error)
{
    struct kiln_fiber_set *set = calloc(1, sizeof *set);
    struct fiber *fibers = calloc(count, sizeof *fibers);
    void *stacks = mmap(NULL, count * STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (set == NULL || fibers == NULL || stacks == MAP_FAILED) {
        if (stacks != MAP_FAILED)
            munmap(stacks, count * STACK_BYTES);
        free(fibers);
        free(set);
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "out of memory for the stacks of %u work-items", count);
    }
    set->count = count;
    set->fibers = fibers;
    set->stacks = stacks;
    *ret_set = set;
    return KILN_OK;
}

void kiln_fiber_set_destroy(struct kiln_fiber_set *set)
{
    if (set == NULL)
        return;
    set->is_ending = true;
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->fibers[i].is_started)
            switch_to(set, i);
#if WITH_THREAD_SANITIZER
        if (set->fibers[i].thread_sanitizer_fiber != NULL)
            __tsan_destroy_fiber(set->fibers[i].thread_sanitizer_fiber);
#endif
    }
#if WITH_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(set->stacks, set->count * STACK_BYTES);
#endif
    munmap(set->stacks, set->count * STACK_BYTES);
    free(set->fibers);
    free(set);
}
