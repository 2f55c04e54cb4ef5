/*
 * Which addresses are ordinary memory.
 */
#include "runtime/support/memory_map.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static int variable = 1;

Test(memory_map, heap_stack_and_variables_are_ordinary)
{
    int local = 0;
    void *small = malloc(16);
    char *large = malloc(64 << 20);
    cr_expect(kiln_memory_is_ordinary(&local));
    cr_expect(kiln_memory_is_ordinary(&variable));
    cr_expect(kiln_memory_is_ordinary(small));
    cr_expect(kiln_memory_is_ordinary(large + (32 << 20)));
    free(large);
    free(small);
}

Test(memory_map, what_a_driver_shares_and_what_is_not_there_is_not)
{
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *reserved = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_expect_not(kiln_memory_is_ordinary(shared));
    cr_expect_not(kiln_memory_is_ordinary(reserved));
    cr_expect_not(kiln_memory_is_ordinary(NULL));
    cr_expect_not(kiln_memory_is_ordinary((const void *)(uintptr_t)64));
    cr_expect_not(kiln_memory_is_ordinary((const void *)UINTPTR_MAX));
    (void)munmap(shared, 4096);
    (void)munmap(reserved, 4096);
}
