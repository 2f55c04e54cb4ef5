/*
 * One plain double-precision function per pointwise mode, and how accurate an implementation of it
 * has to be. Independent of compiler/ir/import_pointwise.c, which says the same in primitive
 * operations.
 */
#ifndef KILN_COMPILER_REFERENCE_POINTWISE_REFERENCE_H
#define KILN_COMPILER_REFERENCE_POINTWISE_REFERENCE_H

#include "compiler/graph/graph.h"

/* Where a perturbed operand can do more than the ends of its interval show. */
enum kiln_mode_hazard {
    KILN_HAZARD_NONE,
    KILN_HAZARD_ZERO_IN_0, /* a pole where operand 0 is zero */
    KILN_HAZARD_ZERO_IN_1, /* a pole where operand 1 is zero */
    KILN_HAZARD_PERIODIC, /* |f'| <= 1 and |f| <= 1, with any number of turns inside the interval */
    KILN_HAZARD_TANGENT,  /* increasing between poles */
    KILN_HAZARD_EQUALITY, /* differs where the operands meet */
};

/* What rounding errors inside an implementation are proportional to. */
struct kiln_mode_extent {
    double
        scale;   /* errors are a few units in the last place of this; 0 where the result is exact */
    double peak; /* the largest intermediate whose overflow would spoil the result */
};

struct kiln_mode_reference {
    /* `in` has the mode's arity; sign of zero, infinities and NaN as the formula gives them. */
    double (*real)(const double *in, const struct kiln_pointwise *attributes);
    /* Same in 64-bit integers, wrapping; NULL for modes without integer meaning. */
    int64_t (*integer)(const int64_t *in);
    /* NULL: scale is the magnitude of the result, peak 0. */
    struct kiln_mode_extent (*extent)(const double *in, const struct kiln_pointwise *attributes,
                                      double result);
    double ulps;     /* error of the result in ulps of scale; 0: correctly rounded */
    double backward; /* relative perturbation of each operand, in ulps, that the implementation may
                        cause */
    enum kiln_mode_hazard hazard;
    bool hidden_underflow; /* a factor may lose bits to underflow before it is multiplied by an
                              operand */
    bool takes_raw; /* looks at operands in their own types: no conversion to the computing type */
};

/* The row of a mode; NULL functions for GEN_INDEX, whose values come from the shape. Static. */
const struct kiln_mode_reference *kiln_mode_reference(enum kiln_pointwise_mode mode);

enum { KILN_MODE_TURNING_POINTS = 2 };

/* Where the result bends, jumps or turns round as the forward input moves and the gradient stands
 * still, zero apart: between these points and zero it is monotone. Returns how many; infinite and
 * NaN ones mean nothing. */
uint32_t kiln_mode_turning_points(const struct kiln_pointwise *attributes,
                                  double ret_points[KILN_MODE_TURNING_POINTS]);

#endif
