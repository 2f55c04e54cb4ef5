/*
 * A queue of IR values, the largest index first: users before their operands. Internal to the
 * partitioner.
 */
#ifndef KILN_COMPILER_FUSE_VALUE_QUEUE_H
#define KILN_COMPILER_FUSE_VALUE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* A binary heap without duplicates. Memory is the owner's: room for all values, `is_in` false for
 * each. */
struct kiln_value_queue {
    uint32_t *heap;
    bool *is_in; /* per value: whether it is in the queue */
    uint32_t count;
    bool is_ascending; /* the smallest index first instead: operands before their users */
};

/* Does nothing when the value is in the queue. */
void kiln_value_queue_add(struct kiln_value_queue *queue, uint32_t value);

/* Takes out the first one; the queue is not empty. */
uint32_t kiln_value_queue_take(struct kiln_value_queue *queue);

#endif
