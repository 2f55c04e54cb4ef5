/*
 * A plan as bytes: what a host stores of an execution context. docs/cache-format.md has every
 * offset. Nothing here knows engines or devices.
 *
 * It holds all that a process needs which has neither compiler nor cache: the graph, the recipe
 * (program_format.h) and its kernels, each as an entry of the cache (cache/entry_format.h).
 */
#ifndef KILN_RUNTIME_ENGINE_PLAN_FORMAT_H
#define KILN_RUNTIME_ENGINE_PLAN_FORMAT_H

#include "runtime/engine/shared_kernel.h"
#include "runtime/support/buffer.h"

#include <stddef.h>
#include <stdint.h>

enum {
    KILN_PLAN_FORMAT_VERSION = 1,
    KILN_PLAN_HEADER_BYTES = 24,
    KILN_PLAN_CHECKSUM_BYTES = 16,
};

struct kiln_plan_field {
    const void *bytes;
    size_t size;
};

/* The parts of a stored plan, pointing into its bytes. */
struct kiln_plan_record {
    struct kiln_plan_field config; /* hipDNN's EngineConfig: engine id and knobs */
    struct kiln_plan_field target; /* name, without a NUL */
    struct kiln_plan_field graph;  /* as the host gave it */
    struct kiln_plan_field recipe;
    uint32_t kernel_count;
    struct kiln_reader kernels; /* at the first one: a field each */
};

/* Appends a plan. The record's kernels are not read: `kernels` are written. KILN_BAD_ARGUMENT if a
 * kernel is too large for an entry, KILN_NO_MEMORY. */
enum kiln_status kiln_plan_encode(const struct kiln_plan_record *record,
                                  struct kiln_shared_kernel *const *kernels, uint32_t kernel_count,
                                  struct kiln_buffer *buffer,
                                  struct kiln_error *error) KILN_NODISCARD;

/* Verifies every byte, and not the meaning of the fields. KILN_BAD_ARGUMENT tells what is wrong,
 * KILN_UNSUPPORTED names a version that this build does not know. */
enum kiln_status kiln_plan_decode(const void *bytes, size_t size,
                                  struct kiln_plan_record *ret_record,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
