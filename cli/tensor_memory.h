/*
 * The memory that `kiln run` gives to a graph: one allocation per tensor with guard bytes around
 * it, aligned exactly as the graph promises and no better, so that too wide accesses and stray
 * writes show.
 */
#ifndef KILN_CLI_TENSOR_MEMORY_H
#define KILN_CLI_TENSOR_MEMORY_H

#include "compiler/graph/ragged.h"
#include "runtime/device/device.h"
#include "runtime/support/error.h"

#include <stddef.h>
#include <stdint.h>

struct kiln_tensor_memory {
    const struct kiln_tensor *tensor; /* NULL: the tensor has no memory (virtual, constant) */
    size_t bytes;                     /* footprint */
    size_t offset;                    /* of the tensor in the allocation */
    size_t allocated_bytes;
    unsigned char *before;   /* owned: the allocation as given to the device */
    unsigned char *after;    /* owned: as it came back; NULL until then */
    void *device_allocation; /* NULL for host scalars */
    struct kiln_span *spans; /* owned: where the batches of a ragged tensor lie; otherwise NULL */
};

/* Writes elements at strides; index i counts row-major over dims. `context` is the caller's. */
typedef struct kiln_constant (*kiln_element_maker)(void *context, int64_t index);

/* True for inputs, outputs and host scalars: the caller of a graph provides them. */
bool kiln_tensor_has_memory(const struct kiln_tensor *tensor);
/* Bytes that the process needs for it on the host: device memory there, before, after, and the
 * comparison. */
uint64_t kiln_tensor_memory_cost(const struct kiln_tensor *tensor);

/* Makes the host image: guards and outputs in a pattern, gaps of inputs and host scalars NaN bytes.
 */
enum kiln_status kiln_tensor_memory_init(struct kiln_tensor_memory *memory,
                                         const struct kiln_tensor *tensor,
                                         struct kiln_error *error) KILN_NODISCARD;
void kiln_tensor_memory_fini(struct kiln_tensor_memory *memory, struct kiln_device *device);

/* Finds the batches of a ragged tensor, by the content of its offsets; before what looks at single
 * elements. */
enum kiln_status kiln_tensor_memory_find_spans(struct kiln_tensor_memory *memory,
                                               const struct kiln_graph *graph, uint32_t ordinal,
                                               const struct kiln_tensor_memory *offsets,
                                               struct kiln_error *error) KILN_NODISCARD;
/* Sets the elements of an input; before upload. Of a ragged one all that any offsets reach. */
void kiln_tensor_memory_fill(struct kiln_tensor_memory *memory, kiln_element_maker maker,
                             void *context);
/* Sets the whole footprint from a file of exactly that many bytes. That of a ragged tensor may be
 * shorter: it ends where the last batch does. */
enum kiln_status kiln_tensor_memory_load(struct kiln_tensor_memory *memory, const char *path,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Writes the footprint, after download. */
enum kiln_status kiln_tensor_memory_save(const struct kiln_tensor_memory *memory, const char *path,
                                         struct kiln_error *error) KILN_NODISCARD;

enum kiln_status kiln_tensor_memory_upload(struct kiln_tensor_memory *memory,
                                           struct kiln_device *device,
                                           struct kiln_error *error) KILN_NODISCARD;
enum kiln_status kiln_tensor_memory_download(struct kiln_tensor_memory *memory,
                                             struct kiln_device *device,
                                             struct kiln_error *error) KILN_NODISCARD;

/* What the kernels get: a device pointer, or a host pointer for a host scalar. After upload. */
void *kiln_tensor_memory_pointer(const struct kiln_tensor_memory *memory);
/* The tensor's first element on the host, before or after the run. */
const void *kiln_tensor_memory_before(const struct kiln_tensor_memory *memory);
const void *kiln_tensor_memory_after(const struct kiln_tensor_memory *memory);

/* Bytes that changed and must not have: everything for inputs, guards and gaps for outputs. After
 * download. */
uint64_t kiln_tensor_memory_stray_bytes(const struct kiln_tensor_memory *memory);
/* Elements of a bool output that are neither 0 nor 1: not written, or not normalised. */
int64_t kiln_tensor_memory_odd_bools(const struct kiln_tensor_memory *memory);

#endif
