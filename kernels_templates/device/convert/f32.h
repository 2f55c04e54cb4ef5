/*
 * f32 is stored as it is computed with.
 */
#ifndef KILN_DEVICE_CONVERT_F32_H
#define KILN_DEVICE_CONVERT_F32_H

typedef float kiln_storage_f32;

KILN_DEVICE float kiln_decode_f32(kiln_storage_f32 x)
{
    return x;
}

KILN_DEVICE kiln_storage_f32 kiln_encode_f32(float x)
{
    return x;
}

#endif
