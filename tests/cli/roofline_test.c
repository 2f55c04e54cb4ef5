#include "cli/roofline.h"

#include <criterion/criterion.h>
#include <math.h>

static struct kiln_roofline roofline_of(const char *name)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(name, &target, &error), KILN_OK);
    return kiln_roofline_of(&target, 4e12);
}

/* gfx942: 163.4 TFLOP/s of vectors, 1307.4 of matrices; copies at 4 TB/s. */
static const struct {
    const char *what;
    const char *target;
    struct kiln_kernel_work work;
    double seconds;
    enum kiln_bound bound;
    double share;
} cases[] = {
    {"bytes take longer than arithmetic",
     "gfx942",
     {.bytes_fewest = 4000000, .simple_operations = 1e6},
     2e-6,
     KILN_BOUND_MEMORY,
     0.5},
    {"a pass that reads again is no bound",
     "gfx942",
     {.bytes_fewest = 4000000, .bytes_moved = 8000000},
     2e-6,
     KILN_BOUND_MEMORY,
     0.5},
    {"a product of halfs",
     "gfx942",
     {.bytes_fewest = 100,
      .product_operations = 1307.4e9,
      .product_dtype = KILN_DTYPE_F16,
      .has_matrix_unit = true},
     4e-3,
     KILN_BOUND_MATRIX,
     0.25},
    {"its epilogue takes the vector unit",
     "gfx942",
     {.product_operations = 1307.4e9,
      .product_dtype = KILN_DTYPE_BF16,
      .has_matrix_unit = true,
      .simple_operations = 81.7e9},
     4e-3,
     KILN_BOUND_MATRIX,
     0.5},
    {"a product of floats without matrix instructions",
     "gfx1030",
     {.product_operations = 23.04e9, .product_dtype = KILN_DTYPE_F32},
     2e-3,
     KILN_BOUND_VECTOR,
     0.5},
    {"the rate of other matrix instructions is not known",
     "gfx942",
     {.bytes_fewest = 4000,
      .product_operations = 1e9,
      .product_dtype = KILN_DTYPE_F64,
      .has_matrix_unit = true},
     1e-3,
     KILN_BOUND_UNKNOWN,
     0},
    {"but memory may be the bound",
     "gfx942",
     {.bytes_fewest = 3200000,
      .product_operations = 1e3,
      .product_dtype = KILN_DTYPE_F64,
      .has_matrix_unit = true},
     1e-6,
     KILN_BOUND_MEMORY,
     0.8},
    {"no arithmetic rate on the host",
     "host",
     {.bytes_fewest = 4000, .simple_operations = 1e9},
     1,
     KILN_BOUND_UNKNOWN,
     0},
    {"no time, no share", "gfx942", {.bytes_fewest = 4000}, 0, KILN_BOUND_UNKNOWN, 0},
};

Test(roofline, the_nearest_limit_is_the_bound)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kiln_roofline roofline = roofline_of(cases[i].target);
        double share = -1;
        enum kiln_bound bound =
            kiln_roofline_bound(&roofline, &cases[i].work, cases[i].seconds, &share);
        cr_expect_eq(bound, cases[i].bound, "%s: %s", cases[i].what, kiln_bound_name(bound));
        cr_expect_lt(fabs(share - cases[i].share), 0.01, "%s: %g", cases[i].what, share);
    }
}

Test(roofline, without_a_measured_bandwidth_nothing_is_said)
{
    struct kiln_roofline roofline = roofline_of("gfx942");
    roofline.bytes_per_s = 0;
    double share = -1;
    cr_expect_eq(kiln_roofline_bound(&roofline, &cases[0].work, 1e-6, &share), KILN_BOUND_UNKNOWN);
    cr_expect_eq(share, 0);
}
