/*
 * One kernel: its source text, how it is launched, and the arguments that it takes.
 */
#ifndef KILN_COMPILER_KERNEL_H
#define KILN_COMPILER_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

enum kiln_argument_kind {
    KILN_ARGUMENT_TENSOR,      /* pointer to a graph tensor's first element */
    KILN_ARGUMENT_WORKSPACE,   /* pointer into the workspace, at `offset_bytes` */
    KILN_ARGUMENT_HOST_SCALAR, /* value of a host scalar: its bytes, zero-extended to 8 */
    KILN_ARGUMENT_INTEGER,     /* a size or a stride, in `offset_bytes` */
};

/* One kernel argument: always 8 bytes, so argument i lies at byte 8*i of the kernarg segment. */
struct kiln_argument {
    enum kiln_argument_kind kind;
    uint32_t tensor;          /* ordinal in the graph; KILN_NONE for workspace and integers */
    uint64_t offset_bytes;    /* workspace: where in it; integer: its value, in two's complement */
    uint32_t alignment_bytes; /* the pointer must be a multiple of this */
};

/* The largest launch along x: HIP counts its work-items in 32 bits, CUDA its work-groups in 31.
 * Along y and z CUDA takes 65535 work-groups. */
#define KILN_LAUNCH_MAX_ITEMS UINT32_MAX
enum { KILN_LAUNCH_MAX_GROUPS_X = INT32_MAX, KILN_LAUNCH_MAX_GROUPS_YZ = 65535 };

struct kiln_kernel {
    const char *symbol; /* entry point: a name made of the text, equal for equal kernels */
    const char *source; /* complete source text, NUL-terminated */
    uint32_t source_bytes;
    uint32_t grid[3];   /* work-groups */
    uint32_t block[3];  /* work-items of a work-group */
    uint32_t lds_bytes; /* local memory; asked for at the launch where a source can't declare it */
    uint32_t argument_count;
    struct kiln_argument *arguments;
    bool uses_barrier;     /* work-items of a group wait for each other */
    uint64_t bytes_moved;  /* memory traffic as the schedule counts it */
    uint64_t bytes_fewest; /* each of the kernel's operands once */
    uint32_t form;         /* of its schedule (schedule.h): 0 is the first */
};

#endif
