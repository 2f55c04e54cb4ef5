/*
 * Integers that a kernel is launched with, after its pointers. A family visits all of its integers
 * in one function, so names, values and order are written down once.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_INTEGERS_H
#define KILN_COMPILER_EMIT_EMIT_INTEGERS_H

#include "compiler/emit/emission.h"

/* A walk over all of a kernel's integers, which starts with `count` 0. */
struct kiln_integer_walk {
    const struct kiln_emission *emission;
    struct kiln_buffer *source; /* gets the members of kiln_arguments; NULL: no text */
    int64_t *values;            /* gets the value of each; NULL: they are only counted */
    uint32_t count;             /* visited so far */
};

/* The next integer, named as printf() would; its name has less than 48 characters. */
__attribute__((format(printf, 3, 4))) void kiln_visit_integer(struct kiln_integer_walk *walk,
                                                              int64_t value, const char *name, ...);

#endif
