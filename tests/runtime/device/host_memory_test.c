#include "runtime/device/host_memory.h"

#include <criterion/criterion.h>
#include <unistd.h>

/* One cache at least, and no more than one for each CPU. A cache of a gigabyte is still to be made.
 */
Test(host_memory, caches_count_once)
{
    uint64_t bytes = kiln_host_memory_cache_bytes();
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    cr_expect_geq(bytes, 1 << 16);
    cr_expect_lt(bytes / cpus, UINT64_C(1) << 30);
    cr_expect_eq(bytes, kiln_host_memory_cache_bytes());
}

Test(host_memory, what_is_available_is_less_than_there_is)
{
    uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    cr_expect_gt(kiln_host_memory_available(), 0);
    cr_expect_leq(kiln_host_memory_available(), there);
}
