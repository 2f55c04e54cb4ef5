#include "cli/tensor_memory.h"

#include "cli/input_file.h"
#include "cli/tensor_walk.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/ragged_memory.h"
#include "runtime/support/buffer.h"
#include "runtime/support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GUARD_BYTES = 256,
    /* Beyond this, being aligned no better than promised is not worth the memory. */
    EXACT_ALIGNMENT_BYTES = 4096,
    /* Neither 0, 1, nor NaN in any type; -102287.6 as float. */
    POISON = 0xc7,
    GAP = 0xff,
};

static bool is_output(const struct kiln_tensor_memory *memory)
{
    return memory->tensor->role == KILN_TENSOR_OUTPUT;
}

/* What the allocation has to be aligned to so that one offset in it is right on the device too. */
static size_t slack_bytes(const struct kiln_tensor *tensor)
{
    size_t alignment = tensor->alignment_bytes ? tensor->alignment_bytes : 1;
    return alignment <= EXACT_ALIGNMENT_BYTES ? 2 * alignment : alignment;
}

bool kiln_tensor_has_memory(const struct kiln_tensor *tensor)
{
    return tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT ||
           tensor->role == KILN_TENSOR_HOST_SCALAR;
}

uint64_t kiln_tensor_memory_cost(const struct kiln_tensor *tensor)
{
    uint64_t bytes = (uint64_t)kiln_tensor_footprint_bytes(tensor);
    return 4 * (bytes + 2 * GUARD_BYTES + slack_bytes(tensor));
}

enum kiln_status kiln_tensor_memory_init(struct kiln_tensor_memory *memory,
                                         const struct kiln_tensor *tensor, struct kiln_error *error)
{
    *memory = (struct kiln_tensor_memory){.tensor = tensor};
    memory->bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
    size_t extra = 2 * GUARD_BYTES + slack_bytes(tensor);
    if (memory->bytes > SIZE_MAX / 4 || !(memory->before = malloc(memory->bytes + extra))) {
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "cannot allocate the %zu bytes of the tensor with uid %lld",
                              memory->bytes, (long long)tensor->uid);
    }
    memory->allocated_bytes = memory->bytes + extra;
    memory->offset = GUARD_BYTES;
    memset(memory->before, POISON, memory->allocated_bytes);
    if (!is_output(memory))
        memset(memory->before + memory->offset, GAP, memory->bytes);
    return KILN_OK;
}

void kiln_tensor_memory_fini(struct kiln_tensor_memory *memory, struct kiln_device *device)
{
    if (memory->device_allocation)
        device->ops->release(device, memory->device_allocation);
    free(memory->before);
    free(memory->after);
    free(memory->spans);
    *memory = (struct kiln_tensor_memory){0};
}

enum kiln_status kiln_tensor_memory_find_spans(struct kiln_tensor_memory *memory,
                                               const struct kiln_graph *graph, uint32_t ordinal,
                                               const struct kiln_tensor_memory *offsets,
                                               struct kiln_error *error)
{
    memory->spans = calloc((size_t)memory->tensor->dims[KILN_RAGGED_BATCH], sizeof *memory->spans);
    if (memory->spans == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the batches of a tensor");
    kiln_ragged_read_spans(graph, ordinal, kiln_tensor_memory_before(offsets), memory->spans);
    return KILN_OK;
}

/* Of a ragged tensor all that any offsets reach. */
static void fill_all(struct kiln_tensor_memory *memory, kiln_element_maker maker, void *context)
{
    size_t element_bytes = kiln_dtype_info(memory->tensor->dtype)->bytes;
    for (size_t i = 0; i < memory->bytes / element_bytes; i++)
        kiln_element_store(memory->tensor->dtype, maker(context, (int64_t)i),
                           memory->before + memory->offset + i * element_bytes);
}

void kiln_tensor_memory_fill(struct kiln_tensor_memory *memory, kiln_element_maker maker,
                             void *context)
{
    unsigned char *first = memory->before + memory->offset;
    struct kiln_tensor_walk walk;
    if (kiln_tensor_is_ragged(memory->tensor)) {
        fill_all(memory, maker, context);
        return;
    }
    for (kiln_tensor_walk_init(&walk, memory->tensor, memory->spans); walk.index < walk.count;
         kiln_tensor_walk_next(&walk)) {
        kiln_element_store_at(memory->tensor->dtype, maker(context, walk.index), first,
                              walk.offset);
    }
}

#define FILE_HINT                                                                                  \
    "a file holds the memory of the tensor: 1 + sum of (dim-1)*stride elements, little endian"

enum kiln_status kiln_tensor_memory_load(struct kiln_tensor_memory *memory, const char *path,
                                         struct kiln_error *error)
{
    struct kiln_buffer content;
    kiln_buffer_init(&content);
    enum kiln_status status = kiln_input_file_read(path, memory->bytes, &content, error);
    if (status != KILN_OK) {
        kiln_error_prefix(error, "input of the tensor with uid %lld",
                          (long long)memory->tensor->uid);
        if (status == KILN_BAD_ARGUMENT)
            kiln_error_hint(error, FILE_HINT);
        return status;
    }
    bool is_shorter = kiln_tensor_is_ragged(memory->tensor) && content.size < memory->bytes;
    if (content.size != memory->bytes && !is_shorter) {
        status = kiln_error_set(error, KILN_BAD_ARGUMENT,
                                "input file '%s' has %zu bytes, the tensor with uid %lld has %zu",
                                path, content.size, (long long)memory->tensor->uid, memory->bytes);
        kiln_error_hint(error, FILE_HINT);
    } else if (content.size) {
        memcpy(memory->before + memory->offset, content.data, content.size);
    }
    kiln_buffer_fini(&content);
    return status;
}

/* Not kiln_file_write: its rename would replace a device file or a link that the user named. */
enum kiln_status kiln_tensor_memory_save(const struct kiln_tensor_memory *memory, const char *path,
                                         struct kiln_error *error)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return kiln_error_set(error, KILN_IO, "cannot write output file '%s': %s", path,
                              strerror(errno));
    }
    const unsigned char *at = kiln_tensor_memory_after(memory);
    size_t left = memory->bytes;
    int failure = 0;
    while (left && !failure) {
        ssize_t written = write(descriptor, at, left);
        if (written > 0) {
            at += written;
            left -= (size_t)written;
        } else if (written < 0 && errno != EINTR) {
            failure = errno;
        }
    }
    if (close(descriptor) != 0 && !failure)
        failure = errno;
    if (failure) {
        return kiln_error_set(error, KILN_IO, "cannot write output file '%s': %s", path,
                              strerror(failure));
    }
    return KILN_OK;
}

enum kiln_status kiln_tensor_memory_upload(struct kiln_tensor_memory *memory,
                                           struct kiln_device *device, struct kiln_error *error)
{
    if (memory->tensor->role == KILN_TENSOR_HOST_SCALAR)
        return KILN_OK;
    enum kiln_status status =
        device->ops->allocate(device, memory->allocated_bytes, &memory->device_allocation, error);
    if (status != KILN_OK)
        return status;
    /* The tensor moves within the host image to where it is aligned as promised on the device. */
    size_t slack = slack_bytes(memory->tensor);
    size_t exact = slack > memory->tensor->alignment_bytes ? memory->tensor->alignment_bytes : 0;
    uintptr_t base = (uintptr_t)memory->device_allocation;
    uintptr_t place = base + GUARD_BYTES;
    place += (slack - place % slack) % slack;
    place += exact;
    if (place - base > memory->allocated_bytes - GUARD_BYTES - memory->bytes)
        place -= slack; /* still behind the guard: it was rounded up by more than `exact` */
    size_t offset = place - base;
    if (offset != memory->offset) {
        memmove(memory->before + offset, memory->before + memory->offset, memory->bytes);
        memset(memory->before, POISON, offset);
        memset(memory->before + offset + memory->bytes, POISON,
               memory->allocated_bytes - offset - memory->bytes);
        memory->offset = offset;
    }
    return device->ops->copy_in(device, memory->device_allocation, memory->before,
                                memory->allocated_bytes, error);
}

enum kiln_status kiln_tensor_memory_download(struct kiln_tensor_memory *memory,
                                             struct kiln_device *device, struct kiln_error *error)
{
    memory->after = malloc(memory->allocated_bytes);
    if (!memory->after) {
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "cannot allocate the %zu bytes of the tensor with uid %lld",
                              memory->bytes, (long long)memory->tensor->uid);
    }
    if (!memory->device_allocation) {
        memcpy(memory->after, memory->before, memory->allocated_bytes);
        return KILN_OK;
    }
    return device->ops->copy_out(device, memory->after, memory->device_allocation,
                                 memory->allocated_bytes, error);
}

void *kiln_tensor_memory_pointer(const struct kiln_tensor_memory *memory)
{
    unsigned char *base = memory->device_allocation ? memory->device_allocation : memory->before;
    return base + memory->offset;
}

const void *kiln_tensor_memory_before(const struct kiln_tensor_memory *memory)
{
    return memory->before + memory->offset;
}

const void *kiln_tensor_memory_after(const struct kiln_tensor_memory *memory)
{
    return memory->after + memory->offset;
}

uint64_t kiln_tensor_memory_stray_bytes(const struct kiln_tensor_memory *memory)
{
    size_t size = memory->allocated_bytes;
    if (memcmp(memory->before, memory->after, size) == 0)
        return 0;
    /* What may change is made equal first; `after` itself is still needed. */
    unsigned char *expected = malloc(size);
    if (!expected)
        return UINT64_MAX;
    memcpy(expected, memory->before, size);
    if (is_output(memory) && kiln_dtype_is_packed(memory->tensor->dtype)) {
        memcpy(expected + memory->offset, memory->after + memory->offset, memory->bytes);
    } else if (is_output(memory)) {
        size_t element_bytes = kiln_dtype_info(memory->tensor->dtype)->bytes;
        struct kiln_tensor_walk walk;
        for (kiln_tensor_walk_init(&walk, memory->tensor, memory->spans); walk.index < walk.count;
             kiln_tensor_walk_next(&walk)) {
            size_t at = memory->offset + (size_t)walk.offset * element_bytes;
            memcpy(expected + at, memory->after + at, element_bytes);
        }
    }
    uint64_t stray = 0;
    for (size_t i = 0; i < size; i++)
        stray += expected[i] != memory->after[i];
    free(expected);
    return stray;
}

int64_t kiln_tensor_memory_odd_bools(const struct kiln_tensor_memory *memory)
{
    if (memory->tensor->dtype != KILN_DTYPE_BOOL || !is_output(memory))
        return 0;
    const unsigned char *first = kiln_tensor_memory_after(memory);
    int64_t odd = 0;
    struct kiln_tensor_walk walk;
    for (kiln_tensor_walk_init(&walk, memory->tensor, memory->spans); walk.index < walk.count;
         kiln_tensor_walk_next(&walk)) {
        odd += first[walk.offset] > 1;
    }
    return odd;
}
