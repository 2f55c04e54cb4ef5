/*
 * Local memory of a reduction kernel: where the accumulators of a row's waves meet. The same layout
 * as kernels_templates/reduction.hip declares.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_LDS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_LDS_H

#include "compiler/families/reduction/schedule/reduction_schedule.h"

/*
 * How many work-items' accumulators local memory holds at once; 0 when a wave's exchanges suffice.
 * In the form `rows` each wave of a row leaves one, in the form `columns` one half of the waves
 * leaves them for the other half, again and again.
 */
uint32_t kiln_reduction_lds_entries(const struct kiln_reduction_schedule *reduction,
                                    uint32_t wave_size);

/*
 * Of `columns`, how many waves hold accumulators of the same row (of rows: the same). With
 * items_along_reduced work-items of a row, wave_size / items_along_kept (at least one) of
 * them are in one wave.
 */
uint32_t kiln_reduction_waves_per_row(const struct kiln_reduction_schedule *reduction,
                                      uint32_t wave_size);

/* What the kernel declares, in bytes. The passes follow one another in the same memory; within one
 * the components of its accumulators are arrays, laid out as C lays out a structure. */
uint32_t kiln_reduction_lds_bytes(const struct kiln_reduction_passes *passes,
                                  const struct kiln_reduction_schedule *reduction,
                                  uint32_t vector_elems, uint32_t wave_size);

#endif
