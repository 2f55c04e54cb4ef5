/*
 * The units of an operand's tile that a work-item stages. A unit is a pack of each of KILN_<SIDE>_RUN neighbouring rows, or
 * kiln_<side>_lane_run neighbouring packs of a row. A work-item stages KILN_<SIDE>_TURNS units.
 *
 * From operand.h: kiln_<side>_source (where the operand's tile is), _inputs (what is loaded of a unit) and _lane_run. From the
 * pipeline: KILN_STAGE_ITEMS, the number of work-items that stage.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGE_UNITS_H
#define KILN_DEVICE_CONTRACTION_STAGE_UNITS_H

#define KILN_STAGE_UNITS(side, SIDE, rows, row_packs)                                              \
    enum {                                                                                         \
        KILN_##SIDE##_UNITS =                                                                      \
            (rows) / KILN_##SIDE##_RUN * (row_packs) / kiln_##side##_lane_run,                     \
        KILN_##SIDE##_TURNS = (KILN_##SIDE##_UNITS + KILN_STAGE_ITEMS - 1) / KILN_STAGE_ITEMS      \
    };                                                                                             \
    struct kiln_##side##_stage {                                                                   \
        kiln_##side##_source source;                                                               \
        kiln_##side##_inputs inputs[KILN_##SIDE##_TURNS];                                          \
    };

#endif
