/*
 * What a host kernel and the executor that runs it (runtime/device/host_executor.c) know of each
 * other. C and C++.
 *
 * A kernel is an ELF shared object that exports, for the kernel `symbol`,
 *   void symbol(const void *arguments, struct kiln_host_group *group, unsigned first, unsigned
 * count) const struct kiln_host_kernel symbol_kernel
 */
#ifndef KILN_DEVICE_HOST_ABI_H
#define KILN_DEVICE_HOST_ABI_H

#define KILN_HOST_ABI 1u

/* A work-group that is being run. Everything belongs to the executor; work-items write to `lds` and
 * `slots`. */
struct kiln_host_group {
    unsigned id[3]; /* x, y, z */
    unsigned lds_bytes;
    unsigned char *lds; /* aligned to 64 bytes */
    /* Cross-lane exchange: two rows of one slot per work-item. Writers and readers of an exchange
     * use row (exchanges & 1); `exchanges` is how many waits of the running work-item's wave are
     * over. */
    unsigned long long *slots;
    unsigned exchanges;
    /* Suspends the calling work-item until all others of its span have called it too or have ended:
     * of its wave, the `span` work-items from a multiple of `span` on; or, with 0, of the
     * work-group. NULL where work-items run to their end one after the other. */
    void (*wait)(struct kiln_host_group *group, unsigned item, unsigned span);
};

/* Runs work-items [first, first + count) of a group, one after the other. */
typedef void kiln_host_run(const void *arguments, struct kiln_host_group *group, unsigned first,
                           unsigned count);

struct kiln_host_kernel {
    unsigned abi; /* KILN_HOST_ABI */
    unsigned block;
    unsigned wave_size;
    unsigned argument_bytes;
    kiln_host_run *run;
};

#endif
