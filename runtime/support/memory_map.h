/*
 * What the kernel says about an address of this process.
 */
#ifndef KILN_RUNTIME_SUPPORT_MEMORY_MAP_H
#define KILN_RUNTIME_SUPPORT_MEMORY_MAP_H

#include <stdbool.h>

/* True for ordinary memory: the heap, a stack, a variable. False for memory that a driver has
 * mapped, for addresses that are not mapped, and without /proc. Slow: reads /proc/self/maps. */
bool kiln_memory_is_ordinary(const void *address);

#endif
