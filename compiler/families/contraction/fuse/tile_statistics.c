#include "compiler/families/contraction/fuse/tile_statistics.h"

#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/fuse/cluster.h"

enum {
    /* Elements of a tile that share an accumulator: with fewer, what is stored and read again is as
     * much as the elements. */
    MIN_ELEMENTS = 8,
    MOST_SEGMENTS = 1 << 30,
};

static const struct kiln_contraction *contraction_of(const struct kiln_group_builder *builder,
                                                     const struct kiln_cluster *cluster)
{
    return &builder->ir->contractions[builder->ir->ops[cluster->anchors[0]].contraction];
}

static bool is_reduced(const struct kiln_contraction *contraction, uint32_t axis,
                       const struct kiln_domain *domain, uint32_t axes)
{
    uint8_t along = contraction->maps[KILN_CONTRACT_RESULT].axes[axis].along;
    return along < domain->rank && ((axes >> (domain->rank - 1 - along)) & 1u) != 0;
}

/* The elements along m, or n, that share an accumulator; 0: only some of its axes are reduced,
 * which a tile cannot tell apart. */
static int64_t shared_elements(const struct kiln_contraction *contraction,
                               const struct kiln_domain *domain, uint32_t axes,
                               enum kiln_axis_role role)
{
    int64_t reduced = 1;
    int64_t kept = 1;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == role)
            *(is_reduced(contraction, i, domain, axes) ? &reduced : &kept) *= contraction->sizes[i];
    }
    return reduced > 1 && kept > 1 ? 0 : reduced;
}

bool kiln_may_have_statistics(const struct kiln_group_builder *builder,
                              const struct kiln_cluster *cluster, uint32_t axes)
{
    const struct kiln_contraction *contraction = contraction_of(builder, cluster);
    const struct kiln_domain *domain = &builder->ir->domains[cluster->domain];
    int64_t along_m = shared_elements(contraction, domain, axes, KILN_AXIS_M);
    int64_t along_n = shared_elements(contraction, domain, axes, KILN_AXIS_N);
    /* Of a window with a divisor, some rows of a tile are none of the result's. */
    if (along_m == 1 && kiln_map_has_divisor(kiln_contraction_image(contraction)))
        return false;
    along_m = along_m < KILN_USUAL_TILE ? along_m : KILN_USUAL_TILE;
    along_n = along_n < KILN_USUAL_TILE ? along_n : KILN_USUAL_TILE;
    return (builder->strategy->choices & KILN_CHOICE_NO_TILE_STATISTICS) == 0 &&
           along_m * along_n >= MIN_ELEMENTS;
}

/* A guess: one for each tile of about this size along the reduced axes. */
static uint32_t guess_segments(const struct kiln_contraction *contraction,
                               const struct kiln_domain *domain, uint32_t axes)
{
    int64_t segments = 1;
    int64_t sizes[] = {shared_elements(contraction, domain, axes, KILN_AXIS_M),
                       shared_elements(contraction, domain, axes, KILN_AXIS_N)};
    for (uint32_t i = 0; i < 2; i++)
        segments *= (sizes[i] + KILN_USUAL_TILE - 1) / KILN_USUAL_TILE;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_BATCH && is_reduced(contraction, i, domain, axes))
            segments *= contraction->sizes[i];
    }
    return segments < 2 ? 2 : segments > MOST_SEGMENTS ? MOST_SEGMENTS : (uint32_t)segments;
}

void kiln_begin_statistics(struct kiln_group_builder *builder, uint32_t cluster, uint32_t index,
                           uint32_t axes)
{
    struct kiln_cluster *partial = &builder->clusters[cluster];
    uint32_t domain = builder->ir->ops[index].domain;
    partial->role = KILN_ROLE_PARTIAL;
    partial->axes = axes;
    partial->row_domain = domain;
    uint32_t segments = guess_segments(contraction_of(builder, partial),
                                       &builder->ir->domains[partial->domain], axes);
    uint32_t combine =
        kiln_cluster_add_combine(builder, KILN_FAMILY_REDUCTION, index, cluster, segments);
    builder->clusters[combine].boundary = KILN_BOUNDARY_TILES;
    builder->choices |= KILN_CHOICE_NO_TILE_STATISTICS;
}
