/*
 * f64 is stored as it is computed with.
 */
#ifndef KILN_DEVICE_CONVERT_F64_H
#define KILN_DEVICE_CONVERT_F64_H

typedef double kiln_storage_f64;

KILN_DEVICE double kiln_decode_f64(kiln_storage_f64 x)
{
    return x;
}

KILN_DEVICE kiln_storage_f64 kiln_encode_f64(double x)
{
    return x;
}

#endif
