/*
 * u8: computed with as i32, limited to its range when stored.
 */
#ifndef KILN_DEVICE_CONVERT_U8_H
#define KILN_DEVICE_CONVERT_U8_H

typedef unsigned char kiln_storage_u8;

KILN_DEVICE int kiln_decode_u8(kiln_storage_u8 x)
{
    return x;
}

KILN_DEVICE int kiln_round_u8_i32(int x)
{
    const int low = x < 0 ? 0 : x;
    return low > 255 ? 255 : low;
}

KILN_DEVICE kiln_storage_u8 kiln_encode_u8(int x)
{
    return (kiln_storage_u8)kiln_round_u8_i32(x);
}

#endif
