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
    /* Processor with its feature settings as the HIP runtime spells them, "gfx90a:sramecc+:xnack-";
     * for the host device "host:" and the instruction set level, "host:x86-64-v3"; of an NVIDIA GPU
     * its compute capability, "sm_90". Unique: part of cache keys. */
    char name[KILN_TARGET_NAME_BYTES];
    char processor[16]; /* "gfx90a", "host", "sm_90" */
    enum kiln_target_kind kind;
    uint32_t wave_size;
    uint32_t elf_machine;
    uint32_t lds_bytes;
    uint32_t vgprs;
    uint32_t compute_units;
};

/*
 * Reads "gfx90a", "gfx90a:sramecc+:xnack-", "host" ("host" gets the level of this machine) or a
 * host target as its name is written, "host:x86-64-v2". Features come in any order and are put into
 * the HIP runtime's. KILN_BAD_ARGUMENT with near misses as hint when the processor or a feature is
 * unknown.
 */
enum kiln_status kiln_target_parse(const char *text, struct kiln_target *ret_target,
                                   struct kiln_error *error) KILN_NODISCARD;

/* The table, for listings: the number of rows, and the target of row i < that number without
 * features. */
size_t kiln_target_count(void);
void kiln_target_at(size_t index, struct kiln_target *ret_target);

/* The e_flags that an AMDGPU code object for the target carries (code object version 4 and later):
 * processor, and per feature whether it is on, off, left open or not there. 0 for other kinds. */
uint32_t kiln_target_elf_flags(const struct kiln_target *target);

#endif
