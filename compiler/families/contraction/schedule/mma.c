#include "compiler/families/contraction/schedule/mma.h"

#include <string.h>

static const struct kiln_mma rows[] = {
#define KILN_MMA_ROW(is_fnuz, is_transposable, name, targets, layout, operand, rows_m, rows_n,     \
                     k_groups, operand_type, sums_type, call)                                      \
    {#name,                                                                                        \
     targets,                                                                                      \
     KILN_MMA_LAYOUT_##layout,                                                                     \
     KILN_DTYPE_##operand,                                                                         \
     rows_m,                                                                                       \
     rows_n,                                                                                       \
     k_groups,                                                                                     \
     operand_type,                                                                                 \
     sums_type,                                                                                    \
     call,                                                                                         \
     is_fnuz,                                                                                      \
     is_transposable},
#define KILN_MMA(...)              KILN_MMA_ROW(false, false, __VA_ARGS__)
#define KILN_MMA_FNUZ(...)         KILN_MMA_ROW(true, false, __VA_ARGS__)
#define KILN_MMA_TRANSPOSABLE(...) KILN_MMA_ROW(false, true, __VA_ARGS__)
#include "compiler/families/contraction/schedule/mma.def"
};

static bool names_processor(const char *targets, const char *processor)
{
    while (*targets != '\0') {
        size_t length = strcspn(targets, " ");
        bool is_prefix = targets[length - 1] == '*';
        size_t compared = is_prefix ? length - 1 : length;
        if (strncmp(targets, processor, compared) == 0 &&
            (is_prefix || processor[compared] == '\0'))
            return true;
        targets += length;
        targets += strspn(targets, " ");
    }
    return false;
}

const struct kiln_mma *kiln_mma_find(const struct kiln_target *target, enum kiln_dtype operand,
                                     uint32_t most_rows)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].operand == operand && rows[i].rows_m <= most_rows &&
            rows[i].rows_n <= most_rows && names_processor(rows[i].targets, target->processor))
            return &rows[i];
    }
    return NULL;
}

uint32_t kiln_mma_packs(const struct kiln_mma *mma)
{
    enum { MFMA_LANES = 64, WMMA_HALVES = 2 };
    switch (mma->layout) {
    case KILN_MMA_LAYOUT_MFMA:
        return mma->k_groups * mma->rows_m / MFMA_LANES;
    case KILN_MMA_LAYOUT_WMMA_REPLICATED:
        return mma->k_groups;
    case KILN_MMA_LAYOUT_WMMA:
        return mma->k_groups / WMMA_HALVES;
    default:
        return 1;
    }
}
