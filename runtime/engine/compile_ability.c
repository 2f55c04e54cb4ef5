#include "runtime/engine/compile_ability.h"

#include "runtime/engine/settings_check.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"
#include "runtime/support/subprocess.h"

#include <stdlib.h>

enum { PAUSE_MILLISECONDS = 60000 };

void kiln_compile_ability_init(struct kiln_compile_ability *ability, struct kiln_codegen *codegen)
{
    *ability = (struct kiln_compile_ability){.codegen = codegen};
    atomic_init(&ability->is_there, false);
    kiln_process_mutex_init(&ability->lock);
}

void kiln_compile_ability_fini(struct kiln_compile_ability *ability)
{
    free(ability->failure);
    kiln_process_mutex_fini(&ability->lock);
}

bool kiln_compile_ability_is_known(const struct kiln_compile_ability *ability)
{
    return atomic_load_explicit(&ability->is_there, memory_order_acquire);
}

void kiln_compile_ability_forget(struct kiln_compile_ability *ability)
{
    atomic_store_explicit(&ability->is_there, false, memory_order_release);
}

/* KILN_OK when there is nothing to recall. */
static enum kiln_status recall(struct kiln_compile_ability *ability, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    (void)kiln_process_mutex_lock(&ability->lock);
    if (ability->failure && kiln_monotonic_milliseconds() < ability->ask_again) {
        *error = *ability->failure;
        status = error->status;
    }
    kiln_process_mutex_unlock(&ability->lock);
    return status;
}

static void remember(struct kiln_compile_ability *ability, const struct kiln_error *error)
{
    struct kiln_error *copy = malloc(sizeof(*copy));
    if (!copy)
        return;
    *copy = *error;
    (void)kiln_process_mutex_lock(&ability->lock);
    struct kiln_error *old = ability->failure;
    ability->failure = copy;
    ability->ask_again = error->status == KILN_UNSUPPORTED
                             ? UINT64_MAX
                             : kiln_monotonic_milliseconds() + PAUSE_MILLISECONDS;
    kiln_process_mutex_unlock(&ability->lock);
    free(old);
}

/* Hosts with logging off see only that graphs are declined. */
static void blame(const struct kiln_compile_ability *ability, const struct kiln_target *target,
                  const struct kiln_error *reason)
{
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(ability->codegen, &counters);
    kiln_settings_blame(target,
                        counters.workers_started != 0 ||
                            kiln_environment_flag(KILN_ENVIRONMENT_KILN_COMPILE_IN_PROCESS),
                        reason);
}

enum kiln_status kiln_compile_ability_ask(struct kiln_compile_ability *ability,
                                          const struct kiln_target *target,
                                          struct kiln_error *error)
{
    if (kiln_compile_ability_is_known(ability))
        return KILN_OK;
    enum kiln_status status = recall(ability, error);
    if (status)
        return status;
    /* Two threads that come here at once both ask: a forked child would lose what a lock guards. */
    char name[KILN_COMPILER_NAME_BYTES];
    status = kiln_codegen_compiler(ability->codegen, target, name, error);
    if (status == KILN_OK) {
        if (!atomic_exchange(&ability->is_there, true))
            kiln_log(KILN_LOG_INFO, "'%s' compiles for target '%s'", name, target->name);
        return KILN_OK;
    }
    if (!kiln_status_may_pass(status)) {
        remember(ability, error);
        blame(ability, target, error);
    }
    return status;
}
