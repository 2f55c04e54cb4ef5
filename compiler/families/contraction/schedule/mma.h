/*
 * Matrix instructions of a target: mma.def.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_MMA_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_MMA_H

#include "compiler/codegen/target.h"
#include "compiler/dtype.h"

enum kiln_mma_layout {
    KILN_MMA_LAYOUT_MFMA,
    KILN_MMA_LAYOUT_WMMA_REPLICATED,
    KILN_MMA_LAYOUT_WMMA,
    KILN_MMA_LAYOUT_MMA_SYNC,
    KILN_MMA_LAYOUT_WGMMA,
};

struct kiln_mma {
    const char *name;
    const char *targets;
    enum kiln_mma_layout layout;
    enum kiln_dtype operand;
    uint32_t rows_m;
    uint32_t rows_n;
    uint32_t k_groups;
    const char *operand_type;
    const char *sums_type;
    const char *call;
    bool is_fnuz;         /* operands are fp8 of the FNUZ format */
    bool is_transposable; /* reads of LDS can transpose operands */
};

/* The first row for a target and operand type that takes at most `most_rows` of either operand;
 * NULL where there is none. Static. */
const struct kiln_mma *kiln_mma_find(const struct kiln_target *target, enum kiln_dtype operand,
                                     uint32_t most_rows);

/* Packs of k, 16 bytes each, in a lane's fragment: KILN_MMA_PACKS of device/mma/. */
uint32_t kiln_mma_packs(const struct kiln_mma *mma);

#endif
