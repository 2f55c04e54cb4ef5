/*
 * i8: computed with as i32, limited to its range when stored.
 */
#ifndef KILN_DEVICE_CONVERT_I8_H
#define KILN_DEVICE_CONVERT_I8_H

typedef signed char kiln_storage_i8;

KILN_DEVICE int kiln_decode_i8(kiln_storage_i8 x)
{
    return x;
}

KILN_DEVICE int kiln_round_i8_i32(int x)
{
    const int low = x < -128 ? -128 : x;
    return low > 127 ? 127 : low;
}

KILN_DEVICE kiln_storage_i8 kiln_encode_i8(int x)
{
    return (kiln_storage_i8)kiln_round_i8_i32(x);
}

#endif
