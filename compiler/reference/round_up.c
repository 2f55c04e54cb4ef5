#include "compiler/reference/round_up.h"

#include "compiler/reference/convert.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Codes of magnitudes are ordered as their values are: the next code is the next number. */
static double next_number(enum kiln_dtype dtype, double number, int steps)
{
    uint8_t bytes[8] = {0};
    uint64_t code = 0;
    kiln_element_store(dtype, (struct kiln_constant){.real = number}, bytes);
    for (unsigned i = 0; i < 8; i++)
        code |= (uint64_t)bytes[i] << (8 * i);
    code += (uint64_t)steps;
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(code >> (8 * i));
    return kiln_element_load(dtype, bytes).real;
}

double kiln_dtype_largest(enum kiln_dtype dtype)
{
    double number = kiln_round_to_dtype(dtype, DBL_MAX);
    return isinf(number) ? next_number(dtype, number, -1) : number;
}

double kiln_round_up_to_dtype(enum kiln_dtype dtype, double value)
{
    double largest = kiln_dtype_largest(dtype);
    if (!(value < largest))
        return largest;
    double nearest = kiln_round_to_dtype(dtype, value);
    return nearest < value ? next_number(dtype, nearest, 1) : nearest;
}

double kiln_quotient_up(enum kiln_scalar scalar, double a, double b)
{
    if (scalar == KILN_SCALAR_F32) {
        /* Products of two floats are exact in double. */
        float quotient = (float)(a / b);
        if (quotient > 0 && (double)nextafterf(quotient, 0) * b >= a)
            quotient = nextafterf(quotient, 0);
        return (double)((double)quotient * b < a ? nextafterf(quotient, INFINITY) : quotient);
    }
    double quotient = a / b;
    return fma(-quotient, b, a) > 0 ? nextafter(quotient, (double)INFINITY) : quotient;
}
