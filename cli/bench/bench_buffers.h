/*
 * The memory of a graph that is executed many times: so many sets of inputs and outputs that no
 * cache holds one set until its turn comes again. Inputs hold random numbers that suit the graph,
 * the same in every set.
 */
#ifndef KILN_CLI_BENCH_BENCH_BUFFERS_H
#define KILN_CLI_BENCH_BENCH_BUFFERS_H

#include "compiler/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/engine/engine.h"

struct kiln_bench_buffers {
    struct kiln_device *device; /* borrowed; must outlive the buffers */
    void *memory;               /* device memory of all sets, one behind the other */
    uint64_t set_bytes;
    uint32_t set_count;
    uint32_t binding_count;               /* of a set */
    struct kiln_buffer_binding *bindings; /* owned; set after set, in the order of tensors */
    uint64_t *scalars; /* owned: what bindings of host scalars point to; 8 bytes each */
};

/*
 * Makes as many sets as take `rotation_bytes` in all, at least two; fewer where only `limit_bytes`
 * may be taken. KILN_NO_MEMORY when that holds no set at all, or the device has not so much. The
 * buffers are initialised in any case: fini them.
 */
enum kiln_status kiln_bench_buffers_init(struct kiln_bench_buffers *buffers,
                                         struct kiln_device *device, const struct kiln_graph *graph,
                                         uint64_t rotation_bytes, uint64_t limit_bytes,
                                         struct kiln_error *error) KILN_NODISCARD;
void kiln_bench_buffers_fini(struct kiln_bench_buffers *buffers);

/* The bindings of the set whose turn it is. */
const struct kiln_buffer_binding *kiln_bench_buffers_at(const struct kiln_bench_buffers *buffers,
                                                        uint64_t turn);

#endif
