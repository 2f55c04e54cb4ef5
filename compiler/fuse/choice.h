/*
 * Choices that a partition leaves open. Their price shows only in the schedules.
 */
#ifndef KILN_COMPILER_FUSE_CHOICE_H
#define KILN_COMPILER_FUSE_CHOICE_H

#include <stdint.h>

/* Departures of a partition from the first guess: a set of bits, see choice.def. */
enum kiln_choice_number {
#define KILN_CHOICE(name, text) KILN_CHOICE_NUMBER_##name,
#include "compiler/fuse/choice.def"
    KILN_CHOICE_COUNT
};
enum kiln_choice {
#define KILN_CHOICE(name, text) KILN_CHOICE_##name = 1 << KILN_CHOICE_NUMBER_##name,
#include "compiler/fuse/choice.def"
};

/* The text of choice number `number`. Static. */
const char *kiln_choice_text(enum kiln_choice_number number);

/* Choices whose price shows only in the schedules: a caller tries, and keeps the cheapest
 * (kernel_plan.h). */
struct kiln_partition_strategy {
    uint32_t choices; /* set of enum kiln_choice */
    /* Work after which a plain partition is made instead, in steps of a few nanoseconds; 0:
     * KILN_PARTITION_MAX_STEPS. A count and not a time, so that equal graphs give equal programs.
     */
    uint64_t max_steps;
};

#endif
