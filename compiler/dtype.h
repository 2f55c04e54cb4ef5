/*
 * Element types of tensors (storage) and scalar types of values inside kernels (registers).
 * One row per storage type: dtype.def. Conversions in C: compiler/reference/convert.h.
 */
#ifndef KILN_COMPILER_DTYPE_H
#define KILN_COMPILER_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_dtype {
#define KILN_DTYPE(name, text, bits, scalar, wire, precision, device) KILN_DTYPE_##name,
#include "compiler/dtype.def"
    KILN_DTYPE_COUNT
};

/* Register types. Every value of the fusion IR has one. */
enum kiln_scalar {
    KILN_SCALAR_BOOL,
    KILN_SCALAR_I32,
    KILN_SCALAR_I64,
    KILN_SCALAR_F32,
    KILN_SCALAR_F64,
    KILN_SCALAR_COUNT
};

struct kiln_dtype_info {
    const char *text;
    uint8_t bits;
    uint8_t bytes; /* of one element by itself, as registers and local memory have it */
    enum kiln_scalar scalar;
    int wire;
    uint8_t precision;
    const char *device;
};

/* The row of a type; `dtype` must be below KILN_DTYPE_COUNT. Static. */
const struct kiln_dtype_info *kiln_dtype_info(enum kiln_dtype dtype);
/* False when hipDNN's number names no type that Kiln handles. */
bool kiln_dtype_from_wire(int wire, enum kiln_dtype *ret_dtype);
/* The storage type that holds every value of a register type. */
enum kiln_dtype kiln_scalar_dtype(enum kiln_scalar scalar);
/* "i32", "f32", ...: spelling in dumps and suffix of device functions. Static. */
const char *kiln_scalar_text(enum kiln_scalar scalar);
/* Integer or bool: exact, no rounding. */
bool kiln_dtype_is_integer(enum kiln_dtype dtype);

/* True if elements are smaller than a byte, and memory has them packed. */
bool kiln_dtype_is_packed(enum kiln_dtype dtype);
/* The fewest elements that fill whole bytes: 2 of FP4, 4 of FP6, otherwise 1. */
uint32_t kiln_dtype_unit(enum kiln_dtype dtype);
/* The bytes of so many elements in memory; the last byte may be partly filled. The count times 64
 * must fit. */
int64_t kiln_dtype_memory_bytes(enum kiln_dtype dtype, int64_t elements);
/* A type of whole bytes that holds every value of a packed one; any other type itself. */
enum kiln_dtype kiln_dtype_unpacked(enum kiln_dtype dtype);

#endif
