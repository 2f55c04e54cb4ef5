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
#define KILN_DTYPE(name, text, bytes, scalar, wire, precision, device) KILN_DTYPE_##name,
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
    uint8_t bytes;
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

#endif
