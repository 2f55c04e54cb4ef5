/*
 * Clusters of NVIDIA GPUs from sm_90 on: neighbouring work-groups that run at the same time, and read each other's LDS. Clusters
 * begin at multiples of their size.
 */
#ifndef KILN_DEVICE_CLUSTER_H
#define KILN_DEVICE_CLUSTER_H

/* A barrier of all work-items of the cluster in two parts. After the wait they see whatever the others wrote to LDS before they
 * arrived. */
KILN_DEVICE void kiln_cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

KILN_DEVICE void kiln_cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

KILN_DEVICE void kiln_cluster_barrier()
{
    kiln_cluster_arrive();
    kiln_cluster_wait();
}

/* The same place in the LDS of another work-group; none may end before the others have read. */
template <class Local> KILN_DEVICE const Local *kiln_in_group(const Local *here, unsigned group)
{
    const Local *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(group));
    return there;
}

#endif
