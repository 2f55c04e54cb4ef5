/*
 * Copies of NVIDIA GPUs from global memory to LDS that go on while the work-item does something else.
 */
#ifndef KILN_DEVICE_MMA_ASYNC_COPY_H
#define KILN_DEVICE_MMA_ASYNC_COPY_H

KILN_DEVICE unsigned kiln_local_address(const void *local)
{
    return (unsigned)__cvta_generic_to_shared(local);
}

/* Copies a pack while the work-item goes on: nothing where there is no such row, zeros beyond the end of k. */
KILN_DEVICE void kiln_copy_pack(kiln_pack *to, const void *from, bool is_row, bool is_within)
{
    asm volatile("{\n.reg .pred copies;\nsetp.ne.b32 copies, %3, 0;\n"
                 "@copies cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n}" ::"r"(
                     kiln_local_address(to)),
                 "l"(from), "r"(is_within ? 16u : 0u), "r"((unsigned)is_row)
                 : "memory");
}

/* Until all that this work-item copies is there. */
#define kiln_await_copies() asm volatile("cp.async.wait_all;" ::: "memory")

#endif
