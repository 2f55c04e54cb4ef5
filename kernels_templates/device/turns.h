/*
 * A kernel whose work-groups take several pieces of work, one after the other: a launch with a work-group for each would be larger
 * than a device takes. The grid is KILN_GRID, and arguments.chunks counts the pieces. (The other choice: turns_none.h.)
 *
 *   KILN_TURN_KERNEL(type, name, count)
 *   {
 *       KILN_TURN(group, type, name, count)
 *       ...
 *
 * is a kernel with local memory, as KILN_LDS makes it, that does piece number `group`. A `return` ends the piece.
 */
#ifndef KILN_DEVICE_TURNS_H
#define KILN_DEVICE_TURNS_H

#define KILN_EACH_TURN(turn)                                                                       \
    KILN_NO_UNROLL                                                                                 \
    for (unsigned turn = kiln_work_group_x(); turn < (unsigned)arguments.chunks; turn += KILN_GRID)
/* Arguments are loaded once a turn: no register holds them, or what follows from them, over the loop. */
#define KILN_TURN_KERNEL(type, name, count)                                                        \
    KILN_DEVICE void kiln_take_turn(const kiln_arguments &arguments, unsigned turn, type *name);   \
    KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)                                           \
    {                                                                                              \
        KILN_LDS(type, name, count);                                                               \
        KILN_EACH_TURN(turn)                                                                       \
        {                                                                                          \
            KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, of_turn);                              \
            kiln_take_turn(of_turn, turn, name);                                                   \
            kiln_barrier(); /* the next turn overwrites LDS */                                     \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_take_turn(const kiln_arguments &arguments, unsigned turn, type *name)
#define KILN_TURN(group, type, name, count) unsigned group = turn;

#endif
