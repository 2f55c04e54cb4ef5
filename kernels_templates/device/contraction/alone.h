/*
 * A work-group that is no part of a cluster (k_cluster.h): it reads only its own LDS.
 */
#ifndef KILN_DEVICE_CONTRACTION_ALONE_H
#define KILN_DEVICE_CONTRACTION_ALONE_H

#define KILN_GROUPS_K                     1
#define kiln_cluster_rank()               0u
#define kiln_cluster_barrier()            kiln_barrier()
#define kiln_strip_of_group(strip, group) (strip)

#endif
