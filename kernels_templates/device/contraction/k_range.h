/*
 * The part of k that a work-group multiplies.
 */
#ifndef KILN_DEVICE_CONTRACTION_K_RANGE_H
#define KILN_DEVICE_CONTRACTION_K_RANGE_H

struct kiln_k_range {
    unsigned first;
    unsigned size;
    bool is_empty; /* something is computed nevertheless, and then zero is stored */
};

#endif
