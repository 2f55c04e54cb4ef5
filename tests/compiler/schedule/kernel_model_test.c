/* The tiles that a search has modelled: the best are kept, each once, the fastest first. */
#include "compiler/schedule/alternatives.h"
#include "compiler/schedule/kernel_model.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct kiln_alternative tile_of(uint32_t rows, double time_ns)
{
    struct kiln_alternative tile = {.time_ns = time_ns};
    (void)snprintf(tile.what, sizeof tile.what, "plain %ux64x32", (unsigned)rows);
    return tile;
}

Test(kernel_model, the_fastest_tiles_are_kept_in_order)
{
    static const double times[] = {70, 30, 90, 10, 50, 20};
    struct kiln_alternatives kept = {0};
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct kiln_alternative tile = tile_of(i + 1, times[i]);
        kiln_alternatives_add(&kept, &tile);
    }
    cr_assert_eq(kept.count, KILN_MAX_ALTERNATIVES);
    cr_expect_eq(kept.items[0].time_ns, 10);
    cr_expect_eq(kept.items[1].time_ns, 20);
    cr_expect_eq(kept.items[2].time_ns, 30);
}

Test(kernel_model, a_tile_is_kept_once)
{
    struct kiln_alternatives kept = {0};
    const struct kiln_alternative tile = tile_of(16, 5);
    kiln_alternatives_add(&kept, &tile);
    kiln_alternatives_add(&kept, &tile);
    cr_expect_eq(kept.count, 1);
}

Test(kernel_model, every_bound_has_a_name)
{
    for (int bound = 0; bound < KILN_BOUND_COUNT; bound++)
        cr_expect_not_null(kiln_kernel_bound_text((enum kiln_kernel_bound)bound));
}
