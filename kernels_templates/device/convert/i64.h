/*
 * i64 is stored as it is computed with.
 */
#ifndef KILN_DEVICE_CONVERT_I64_H
#define KILN_DEVICE_CONVERT_I64_H

typedef long long kiln_storage_i64;

KILN_DEVICE long long kiln_decode_i64(kiln_storage_i64 x)
{
    return x;
}

KILN_DEVICE kiln_storage_i64 kiln_encode_i64(long long x)
{
    return x;
}

#endif
