/*
 * f32 is stored as it is computed with.
 */
#ifndef KILN_DEVICE_CONVERT_F32_H
#define KILN_DEVICE_CONVERT_F32_H

typedef float kiln_storage_f32;

#define kiln_decode_f32(x) (x)
#define kiln_encode_f32(x) (x)

#endif
