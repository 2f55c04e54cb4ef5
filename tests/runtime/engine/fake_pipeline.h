/*
 * A compiler that does nothing: kiln_lower and the functions of compiler/codegen/codegen.h, for
 * tests of what the engine does around them. Linked instead of kiln_lower and the compile workers.
 *
 * Every kernel takes all tensors in memory and all host scalars in the graph's order, then, when
 * there is a workspace, its start and the place at 256 bytes into it. Its "code object" starts like
 * an ELF file. Its source is another for each graph, kernel, form and digest of templates, unless
 * `shares_kernels` leaves the graph out.
 */
#ifndef KILN_TESTS_FAKE_PIPELINE_H
#define KILN_TESTS_FAKE_PIPELINE_H

#include "runtime/support/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fake_pipeline {
    uint32_t kernel_count;
    uint64_t workspace_bytes;
    uint32_t alignment_bytes;      /* that tensor arguments ask for */
    bool has_integer;              /* every kernel's last argument is the integer -7 */
    const char *identity;          /* of the compiler; NULL: there is none */
    size_t lowered_bytes;          /* of memory that lowering takes besides */
    uint32_t lower_status;         /* enum kiln_status: how lowering ends */
    uint32_t query_status;         /* enum kiln_status: how asking for the compiler ends */
    const char *digest;            /* of the templates */
    uint32_t failing_kernel;       /* counted from 1; 0: none */
    bool shares_kernels;           /* the i-th kernels of all graphs are equal */
    bool repeats_kernels;          /* all kernels of a program are equal, but for their grids */
    uint32_t form_count;           /* of every kernel's schedule, at most 4; the last form's source
                                      starts with "elements", the others' with "vectors" */
    uint32_t vectors_fail;         /* 1: kernels lowered with vectors do not compile */
    uint32_t failing_from_form;    /* this form and later ones do not compile; 0: all do */
    uint32_t spilling_kernel;      /* counted from 1; 0: none */
    uint32_t spilled_bytes[4];     /* by its forms */
    uint32_t lower_microseconds;   /* that lowering takes */
    uint32_t compile_microseconds; /* that a compile takes */
    bool objects_are_bad;          /* no device loads what is compiled */
    uint32_t bad_kernel;           /* nor this one; counted from 1; 0: none */
    atomic_uint lowered;           /* calls so far */
    atomic_uint relaxed;
    atomic_uint compiled;
    atomic_uint dumped; /* sources of failed kernels */
    atomic_uint queries;
};
/* Visible, so that a test can reach the one inside of a plugin that is built with it. */
extern __attribute__((visibility("default"))) struct fake_pipeline fake_pipeline;

#endif
