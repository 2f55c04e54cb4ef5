/*
 * Log lines about programs that the caches do not have: they explain why something is compiled.
 * These functions return at once if the log does not take info.
 */
#ifndef KILN_RUNTIME_ENGINE_MISS_LOG_H
#define KILN_RUNTIME_ENGINE_MISS_LOG_H

#include "cache/cache_store.h"
#include "runtime/engine/miss_reason.h"
#include "runtime/engine/shared_program.h"

#include <stdatomic.h>

/* Zeros at first; thread-safe. */
struct kiln_miss_log {
    /* The store's programs at the first line, which alone costs a listing; owned. */
    _Atomic(struct kiln_known_programs *) known;
};

void kiln_miss_log_fini(struct kiln_miss_log *log);
/* The program is in no cache: the line names the nearest one. */
void kiln_miss_log_program(struct kiln_miss_log *log, struct kiln_cache_store *store,
                           const struct kiln_missing_program *missing);
/* Its recipe is in a cache, and so many of the kernels are not. */
void kiln_miss_log_kernels(const struct kiln_missing_program *program,
                           const struct kiln_shared_program *recipe, uint32_t missing);

#endif
