/*
 * Work-groups that share the k of a tile: Hopper runs KILN_GROUPS_K neighbours at the same time (a cluster), and they read each
 * other's LDS. Everywhere else a work-group is alone.
 */
#ifndef KILN_DEVICE_CONTRACTION_CLUSTER_H
#define KILN_DEVICE_CONTRACTION_CLUSTER_H

#if KILN_GROUPS_K > 1

/* Clusters begin at multiples of their size. */
KILN_DEVICE unsigned kiln_cluster_rank()
{
    return kiln_work_group_x() % KILN_GROUPS_K;
}

/* All work-items of the cluster; what any of them wrote to LDS before is there after it. */
KILN_DEVICE void kiln_cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

/* The same place in the LDS of another work-group; none may end before the others have read. */
KILN_DEVICE const kiln_sum *kiln_strip_of_group(const kiln_sum *strip, unsigned group)
{
    const kiln_sum *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(strip), "r"(group));
    return there;
}

#else

#define kiln_cluster_rank()               0u
#define kiln_cluster_barrier()            kiln_barrier()
#define kiln_strip_of_group(strip, group) (strip)

#endif

#endif
