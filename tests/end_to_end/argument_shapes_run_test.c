/*
 * Kernels whose sizes are arguments, on the host device: sizes at the ends of the classes that
 * schedules have, where rows are full, short of an element, or one too long.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MAX_SKETCH = 512 };

TestSuite(argument_shapes_run, .timeout = 300);

static void run(const char *format, int rows, int columns, uint32_t wave)
{
    char sketch[MAX_SKETCH];
    char dims[32];
    (void)snprintf(dims, sizeof dims, "%d,%d", rows, columns);
    (void)snprintf(sketch, sizeof sketch, format, dims, columns, columns, dims);
    run_checked_sketch(sketch, &(struct kiln_lower_options){.shapes = KILN_SHAPES_ARGUMENT,
                                                            .host_wave_size = wave});
}

static const char layernorm[] =
    "Layernorm x=%s:HALF scale=%d bias=%d epsilon=k y=%s:HALF !normalized_dim_count=1";

Test(argument_shapes_run, rows_fill_their_class_or_do_not)
{
    static const int columns[] = {256, 255, 257, 2048, 2056, 7, 8, 8192, 16384, 16376, 4099};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        run(layernorm, i % 2 == 0 ? 9 : 16, columns[i], i % 3 == 0 ? 32 : 64);
}

Test(argument_shapes_run, rows_on_the_host)
{
    run(layernorm, 5, 100, 0);
}

/* Two means; one has its count on the left of the product. */
Test(argument_shapes_run, means_over_a_power_of_two)
{
    static const char backward[] = "LayernormBackward dy=%s:HALF x=%s:HALF scale=%d dx=%s:HALF "
                                   "dscale=%d dbias=%d !normalized_dim_count=1";
    static const int columns[] = {64, 60};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        char sketch[MAX_SKETCH];
        char dims[32];
        (void)snprintf(dims, sizeof dims, "9,%d", columns[i]);
        (void)snprintf(sketch, sizeof sketch, backward, dims, dims, columns[i], dims, columns[i],
                       columns[i]);
        run_checked_sketch(sketch, &(struct kiln_lower_options){.shapes = KILN_SHAPES_ARGUMENT,
                                                                .host_wave_size = 64});
    }
}
