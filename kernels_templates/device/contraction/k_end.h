/*
 * The end of k within tiles: values of KILN_K_END. The ragged tile is the first, so that the loop over the others checks nothing.
 */
#ifndef KILN_DEVICE_CONTRACTION_K_END_H
#define KILN_DEVICE_CONTRACTION_K_END_H

enum kiln_k_end {
    KILN_K_END_NONE,  /* k is whole tiles */
    KILN_K_END_FIRST, /* the first tile is ragged */
    KILN_K_END_ALONE, /* the first tile is ragged, and there is no other */
    KILN_K_END_ANY    /* FIRST or ALONE: known when the kernel runs */
};

#endif
