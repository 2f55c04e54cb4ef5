/*
 * Kernels whose work-groups may take several pieces of work, one after the other. KILN_HAS_TURNS is 1 where a launch with a
 * work-group for each would be larger than a device takes: the grid is KILN_GRID then, and arguments.chunks counts the pieces.
 * An ordinary launch has no loop; its kernel is another text.
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

#ifndef KILN_HAS_TURNS
#define KILN_HAS_TURNS 0
#endif

#if KILN_HAS_TURNS
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
#else
#define KILN_EACH_TURN(turn) if (const unsigned turn = kiln_work_group_x(); true)
#define KILN_TURN_KERNEL(type, name, count) KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
#define KILN_TURN(group, type, name, count)                                                        \
    KILN_LDS(type, name, count);                                                                   \
    unsigned group = kiln_work_group_x();
#endif

#endif
