/*
 * Which of many tiles a work-group has, where the GPU has KILN_CHIPLETS chiplets.
 */
#ifndef KILN_DEVICE_CONTRACTION_CHIPLET_H
#define KILN_DEVICE_CONTRACTION_CHIPLET_H

/* Work-groups go to chiplets in turn, each with a cache of its own: so each gets runs of neighbours. */
KILN_DEVICE unsigned kiln_run_of_chiplet(unsigned tile, unsigned tiles)
{
    const unsigned turn = KILN_CHIPLETS * KILN_CHIPLET_RUN;
    if (KILN_CHIPLETS > 1 && tile < tiles / turn * turn) {
        const unsigned nth = tile / KILN_CHIPLETS;
        tile = nth / KILN_CHIPLET_RUN * turn + tile % KILN_CHIPLETS * KILN_CHIPLET_RUN +
               nth % KILN_CHIPLET_RUN;
    }
    return tile;
}

#endif
