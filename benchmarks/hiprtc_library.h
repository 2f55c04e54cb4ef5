/*
 * hipRTC by dlopen, for comparison: the few functions that compile a kernel, declared by hand.
 */
#ifndef KILN_BENCHMARKS_HIPRTC_LIBRARY_H
#define KILN_BENCHMARKS_HIPRTC_LIBRARY_H

#include "runtime/support/error.h"

#include <stddef.h>

struct kiln_hiprtc {
    int (*create)(void **program, const char *source, const char *name, int header_count,
                  const char **headers, const char **header_names);
    int (*compile)(void *program, int option_count, const char **options);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*code_size)(void *program, size_t *bytes);
    int (*code)(void *program, char *bytes);
    int (*destroy)(void **program);
};

/* KILN_UNSUPPORTED with a sentence when no HIP runtime is installed. Never closed: HIP dislikes
 * that. */
enum kiln_status kiln_hiprtc_open(struct kiln_hiprtc *ret_hiprtc,
                                  struct kiln_error *error) KILN_NODISCARD;

/* Compiles a source for a processor, takes the code object and drops it. */
enum kiln_status kiln_hiprtc_compile(const struct kiln_hiprtc *hiprtc, const char *source,
                                     const char *processor,
                                     struct kiln_error *error) KILN_NODISCARD;

#endif
