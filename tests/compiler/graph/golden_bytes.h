/*
 * Messages as hipDNN's own generated builders write them (hipdnn-graph-wire.md section 12): the
 * only inputs of these tests that no code of this project made.
 */
#ifndef KILN_TESTS_COMPILER_GRAPH_GOLDEN_BYTES_H
#define KILN_TESTS_COMPILER_GRAPH_GOLDEN_BYTES_H

#include <stddef.h>

enum golden {
    GOLDEN_G1, /* November 2025: RELU_FWD with an upper clip of 6 */
    GOLDEN_G2, /* current: matmul */
    GOLDEN_G3, /* current: MUL by a constant with uid 0 into a virtual tensor */
    GOLDEN_CONFIG_ID_1,
    GOLDEN_CONFIG_ID_0,
    GOLDEN_CONFIG_KNOB,  /* id 0x7cb4a73cee0d08a2, one knob setting */
    GOLDEN_DETAILS,      /* id 0x8123456789abcdef */
    GOLDEN_DETAILS_NAME, /* name ACME_ENGINE */
    GOLDEN_COUNT
};

/* The bytes in static memory, 16-byte aligned, valid until the next call. */
const void *golden_bytes(enum golden golden, size_t *ret_size);

#endif
