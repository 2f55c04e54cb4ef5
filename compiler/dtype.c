#include "compiler/dtype.h"

static const struct kiln_dtype_info dtypes[KILN_DTYPE_COUNT] = {
#define KILN_DTYPE(name, text, bits, scalar, wire, precision, device)                              \
    [KILN_DTYPE_##                                                                                 \
        name] = {text, bits, ((bits) + 7) / 8, KILN_SCALAR_##scalar, wire, precision, #device},
#include "compiler/dtype.def"
};

const struct kiln_dtype_info *kiln_dtype_info(enum kiln_dtype dtype)
{
    return &dtypes[dtype];
}

bool kiln_dtype_from_wire(int wire, enum kiln_dtype *ret_dtype)
{
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        if (dtypes[i].wire == wire) {
            *ret_dtype = (enum kiln_dtype)i;
            return true;
        }
    }
    return false;
}

enum kiln_dtype kiln_scalar_dtype(enum kiln_scalar scalar)
{
    static const enum kiln_dtype own[KILN_SCALAR_COUNT] = {
        [KILN_SCALAR_BOOL] = KILN_DTYPE_BOOL, [KILN_SCALAR_I32] = KILN_DTYPE_I32,
        [KILN_SCALAR_I64] = KILN_DTYPE_I64,   [KILN_SCALAR_F32] = KILN_DTYPE_F32,
        [KILN_SCALAR_F64] = KILN_DTYPE_F64,
    };
    return own[scalar];
}

const char *kiln_scalar_text(enum kiln_scalar scalar)
{
    static const char *const texts[KILN_SCALAR_COUNT] = {"bool", "i32", "i64", "f32", "f64"};
    return texts[scalar];
}

bool kiln_dtype_is_integer(enum kiln_dtype dtype)
{
    return dtypes[dtype].precision == 0;
}

bool kiln_dtype_is_packed(enum kiln_dtype dtype)
{
    return dtypes[dtype].bits < 8;
}

uint32_t kiln_dtype_unit(enum kiln_dtype dtype)
{
    switch (dtypes[dtype].bits) {
    case 4:
        return 2;
    case 6:
        return 4;
    default:
        return 1;
    }
}

int64_t kiln_dtype_memory_bytes(enum kiln_dtype dtype, int64_t elements)
{
    int64_t bits = dtypes[dtype].bits;
    return bits % 8 == 0 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

enum kiln_dtype kiln_dtype_unpacked(enum kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_DTYPE_F4E2M1:
    case KILN_DTYPE_F6E2M3:
    case KILN_DTYPE_F6E3M2:
        return KILN_DTYPE_F8E4M3;
    case KILN_DTYPE_I4:
        return KILN_DTYPE_I8;
    default:
        return dtype;
    }
}
