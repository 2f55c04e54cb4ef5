/*
 * The part of k that a work-group multiplies.
 */
#ifndef KILN_DEVICE_CONTRACTION_K_RANGE_H
#define KILN_DEVICE_CONTRACTION_K_RANGE_H

struct kiln_k_range {
    unsigned first;
    unsigned size;
    bool is_empty; /* zero is stored */
};

#endif
