/*
 * i32 is stored as it is computed with.
 */
#ifndef KILN_DEVICE_CONVERT_I32_H
#define KILN_DEVICE_CONVERT_I32_H

typedef int kiln_storage_i32;

KILN_DEVICE int kiln_decode_i32(kiln_storage_i32 x)
{
    return x;
}

KILN_DEVICE kiln_storage_i32 kiln_encode_i32(int x)
{
    return x;
}

#endif
