/*
 * What contractions give up, form by form, for the sake of registers.
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_FORMS_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_FORMS_H

#include "compiler/schedule/schedule.h"

/* Rows or columns of the smallest tile; streamed tiles can be smaller. A limit below it stands for
 * products that work-items compute. */
enum { KILN_SMALLEST_TILE = 32 };

/*
 * struct kiln_schedule_family.relax. In this order: fewer steps ahead, with matrix instructions;
 * operands that are staged and not streamed, so that less of them is computed by a lane; smaller
 * tiles; shorter vectors of the result; products by work-items where they are small. Tiles that
 * store statistics stay as long as they can: the other kernel counts on their number.
 */
bool kiln_relax_contraction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits);

#endif
