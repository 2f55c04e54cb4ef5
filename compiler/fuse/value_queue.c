#include "compiler/fuse/value_queue.h"

static bool comes_before(const struct kiln_value_queue *queue, uint32_t a, uint32_t b)
{
    return queue->is_ascending ? a < b : a > b;
}

void kiln_value_queue_add(struct kiln_value_queue *queue, uint32_t value)
{
    if (queue->is_in[value])
        return;
    queue->is_in[value] = true;
    uint32_t place = queue->count++;
    for (; place > 0; place = (place - 1) / 2) {
        uint32_t above = queue->heap[(place - 1) / 2];
        if (!comes_before(queue, value, above))
            break;
        queue->heap[place] = above;
    }
    queue->heap[place] = value;
}

uint32_t kiln_value_queue_take(struct kiln_value_queue *queue)
{
    uint32_t first = queue->heap[0];
    uint32_t moved = queue->heap[--queue->count];
    uint32_t place = 0;
    for (uint32_t below = 1; below < queue->count; below = 2 * place + 1) {
        if (below + 1 < queue->count &&
            comes_before(queue, queue->heap[below + 1], queue->heap[below]))
            below++;
        if (!comes_before(queue, queue->heap[below], moved))
            break;
        queue->heap[place] = queue->heap[below];
        place = below;
    }
    queue->heap[place] = moved;
    queue->is_in[first] = false;
    return first;
}
