/* The memory of this machine, as measurements on the host device have to know it. */
#ifndef KILN_HOST_MEMORY_H
#define KILN_HOST_MEMORY_H

#include <stdint.h>

/* Bytes that could be had without swapping. Pages that cache files count, unlike in
 * _SC_AVPHYS_PAGES. 0 where nothing says it. */
uint64_t kiln_host_memory_available(void);

/* Bytes of the last-level caches of all CPUs that this system has; where nothing says it, 64 MiB.
 */
uint64_t kiln_host_memory_cache_bytes(void);

#endif
