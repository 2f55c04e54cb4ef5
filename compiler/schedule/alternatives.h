/*
 * Schedules of a group that were chosen or passed over, for kiln explain. All times are the model's
 * and not measured.
 */
#ifndef KILN_COMPILER_SCHEDULE_ALTERNATIVES_H
#define KILN_COMPILER_SCHEDULE_ALTERNATIVES_H

#include <stdint.h>

/* A schedule of a group, chosen or passed over. */
struct kiln_alternative {
    char what[96];  /* "streamed 16x16x256, waves 1x1x8": what tells it from others */
    double time_ns; /* without the launch; 0: the model does not compare this one */
    /* Static: why it is not chosen. NULL for the chosen one. A search notes why a candidate may
     * lose that is faster by the model. */
    const char *why_not;
};

enum { KILN_MAX_ALTERNATIVES = 3 };
struct kiln_alternatives {
    uint32_t count;
    struct kiln_alternative items[KILN_MAX_ALTERNATIVES];
};

/* Enters a candidate of a search, unless it is there or there are faster ones enough. The fastest
 * comes first. */
void kiln_alternatives_add(struct kiln_alternatives *alternatives,
                           const struct kiln_alternative *alternative);

#endif
