/*
 * Runs of rows as they are loaded: KILN_<SIDE>_PACKING(KILN_ROWS_PART) copies the rows of the e-th k of `inputs` to `pack`. A run
 * is a pack of rows. The operand has no arithmetic.
 */
#ifndef KILN_DEVICE_CONTRACTION_ROWS_OF_RUN_H
#define KILN_DEVICE_CONTRACTION_ROWS_OF_RUN_H

#define KILN_ROWS_PART(side, SIDE, number, how, n, type)                                           \
    if (part == number)                                                                            \
        KILN_ROWS_##how(n)
#define KILN_ROWS_TAKEN(n) __builtin_memcpy(&pack, inputs.x##n + e * KILN_PACK_ELEMENTS, sizeof pack);
/* Others have no rows as they are loaded. */
#define KILN_ROWS_COPIED(n)   {}
#define KILN_ROWS_REPEATED(n) {}
#define KILN_ROWS_HALVES(n)   {}
#define KILN_ROWS_COMPUTED(n) {}
#define KILN_ROWS_TABLED(n)   {}

#endif
