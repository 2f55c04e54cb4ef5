/*
 * A kernel with a work-group for each piece of work. It has no loop; turns.h, the other choice, says how it is written.
 */
#ifndef KILN_DEVICE_TURNS_NONE_H
#define KILN_DEVICE_TURNS_NONE_H

#define KILN_EACH_TURN(turn) if (const unsigned turn = kiln_work_group_x(); true)
#define KILN_TURN_KERNEL(type, name, count) KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
#define KILN_TURN(group, type, name, count)                                                        \
    KILN_LDS(type, name, count);                                                                   \
    unsigned group = kiln_work_group_x();

#endif
