/*
 * Truth values: one byte, written as 0 or 1, any other than 0 read as true.
 */
#ifndef KILN_DEVICE_CONVERT_BOOL_H
#define KILN_DEVICE_CONVERT_BOOL_H

typedef unsigned char kiln_storage_bool;

KILN_DEVICE bool kiln_decode_bool(kiln_storage_bool x)
{
    return x != 0;
}

KILN_DEVICE kiln_storage_bool kiln_encode_bool(bool x)
{
    return (kiln_storage_bool)(x ? 1 : 0);
}

#endif
