/*
 * Named ranges of time for profilers: roctx, opened at run time where KILN_ROCTX is on.
 */
#ifndef KILN_RUNTIME_SUPPORT_RANGE_MARKS_H
#define KILN_RUNTIME_SUPPORT_RANGE_MARKS_H

/* Ranges of one thread nest. The results of both functions are of no use here. */
struct kiln_range_marks {
    int (*push)(const char *name); /* roctxRangePushA */
    int (*pop)(void);              /* roctxRangePop */
};

/* NULL where KILN_ROCTX is off, or with a notice where no roctx library is there. Decided by the
 * first call; the library stays open. Static. */
const struct kiln_range_marks *kiln_range_marks(void);

#endif
