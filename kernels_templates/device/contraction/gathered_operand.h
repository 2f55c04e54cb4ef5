/*
 * Accesses of the form GATHERED for operand.h: row r of the operand is its row of number kiln_row_index(arguments, r). A number that is
 * none reads another row, which nobody uses (group_gather.h).
 *
 * From the prelude: kiln_row_index, arguments.m, and arguments.tokens, the rows of the operand.
 */
#ifndef KILN_DEVICE_CONTRACTION_GATHERED_OPERAND_H
#define KILN_DEVICE_CONTRACTION_GATHERED_OPERAND_H

#include "device/contraction/operand.h"

/* Copies ask for rows beyond the last one too. */
KILN_DEVICE unsigned kiln_gathered_row(const kiln_arguments &arguments, unsigned row)
{
    const unsigned last = (unsigned)arguments.m - 1;
    const unsigned from = (unsigned)kiln_row_index(arguments, row < last ? row : last);
    return from < (unsigned)arguments.tokens ? from : 0;
}

/* Rows have offsets of their own, which are not kept. */
KILN_CONSTEXPR kiln_loads kiln_gathered_loads(kiln_loads loads)
{
    loads.kept = 0;
    return loads;
}

#define KILN_POINTER_GATHERED(n, type)                                                             \
    const kiln_storage_##type *p##n;                                                               \
    unsigned first##n;
#define KILN_START_GATHERED(n)                                                                     \
    source.p##n = arguments.a##n + kiln_offset_of_batch(arguments, kiln_map_##n, batch);           \
    source.first##n = row;
#define KILN_ADVANCE_GATHERED(n) KILN_ADVANCE_PLAIN(n)

#define KILN_LOADS_GATHERED(side, n)                                                               \
    KILN_FACT kiln_loads kiln_##side##_loads_##n = kiln_gathered_loads(                            \
        kiln_loads_of(kiln_map_##n, kiln_##side##_run, kiln_##side##_is_along_k,                   \
                      kiln_##side##_vector, kiln_##side##_elements));
#define KILN_OFFSETS_GATHERED(side, n)
#define KILN_LOCATE_GATHERED(side, n, type)
#define KILN_KEEP_GATHERED(side, n)
#define KILN_LOAD_GATHERED(side, n)                                                                \
    kiln_load_access(arguments, kiln_map_##n, kiln_##side##_loads_##n,                             \
                     source.p##n + kiln_offset_along(arguments, kiln_map_##n.row,                  \
                                                     kiln_gathered_row(arguments,                  \
                                                                       source.first##n + row)),    \
                     (const kiln_offset *)nullptr, 0, k, rest, inputs.x##n);
#define KILN_OFFSET_GATHERED(side, n)                                                              \
    kiln_offset_in_tile(arguments, kiln_map_##n,                                                   \
                        kiln_gathered_row(arguments, source.first##n + row), k)

#endif
