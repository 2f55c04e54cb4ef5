/*
 * Targets: what a kernel is compiled for. One row per processor: targets.def.
 */
#ifndef KILN_COMPILER_CODEGEN_TARGET_H
#define KILN_COMPILER_CODEGEN_TARGET_H

#include "runtime/support/error.h"

#include <stddef.h>
#include <stdint.h>

enum kiln_target_kind {
    KILN_TARGET_AMDGPU,
    KILN_TARGET_HOST,
    KILN_TARGET_CUDA,
};

enum { KILN_TARGET_NAME_BYTES = 64 };

struct kiln_target {
    /* Processor without feature settings, "gfx90a", since kernels are compiled for all settings
     * (docs/decisions/0016-one-name-per-processor.md); for the host device "host:" and the
     * instruction set level, "host:x86-64-v3"; of an NVIDIA GPU its compute capability, "sm_90".
     * Unique: part of cache keys. */
    char name[KILN_TARGET_NAME_BYTES];
    char processor[16]; /* "gfx90a", "host", "sm_90" */
    enum kiln_target_kind kind;
    uint32_t wave_size;
    uint32_t elf_machine;
    uint32_t lds_bytes;
    uint32_t vgprs;
    uint32_t compute_units;
    /* Peak rates of the largest product (targets.def); 0: not known, or no such unit. */
    uint32_t bandwidth_gbs;
    uint32_t vector_gflops; /* float; a multiply-add is two */
    uint32_t matrix_gflops; /* half with float sums */
};

/*
 * Reads "gfx90a", "host" ("host" gets the level of this machine) or a host target as its name is
 * written, "host:x86-64-v2". A name with feature settings, as the HIP runtime reports its devices,
 * "gfx90a:sramecc+:xnack-", is checked and means the processor. So does the name of a product
 * (product.h), and case does not matter. KILN_BAD_ARGUMENT with near misses
 * as hint when the processor or a feature is unknown.
 */
enum kiln_status kiln_target_parse(const char *text, struct kiln_target *ret_target,
                                   struct kiln_error *error) KILN_NODISCARD;

/* The table, for listings: the number of rows, and the target of row i < that number. */
size_t kiln_target_count(void);
void kiln_target_at(size_t index, struct kiln_target *ret_target);

/* The features that a device of the target reports a setting of, with commas between them:
 * "sramecc, xnack". "" when there are none. */
const char *kiln_target_features(const struct kiln_target *target);

/* The e_flags that an AMDGPU code object for the target carries (code object version 4 and later):
 * processor, and that every setting of its features will do. 0 for other kinds. */
uint32_t kiln_target_elf_flags(const struct kiln_target *target);

#endif
