/*
 * Facts about products in groups: kernels_templates/device/contraction/group_starts.h and the
 * headers that use it.
 */
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"

#include <inttypes.h>

/* The access of a place; KILN_NONE where the routing has none. */
static uint32_t access_of(const struct kiln_emission *emission, enum kiln_place place)
{
    const struct kiln_fusion_group *group = emission->group;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place == place)
            return i;
    }
    return KILN_NONE;
}

/* The function that reads one number. */
static void append_reader(const struct kiln_emission *emission, enum kiln_place place,
                          const char *name, struct kiln_buffer *source)
{
    uint32_t access = access_of(emission, place);
    if (access == KILN_NONE)
        return;
    kiln_buffer_printf(source,
                       "KILN_DEVICE int %s(const kiln_arguments &arguments, unsigned index)\n{\n"
                       "    (void)index;\n    return arguments.a%" PRIu32 "[(long long)index * ",
                       name, access);
    if (kiln_is_stride_argument(emission, access, KILN_STRIDE_ROW))
        kiln_buffer_printf(source, "arguments.s%" PRIu32 "_%d];\n}\n", access, KILN_STRIDE_ROW);
    else
        kiln_buffer_printf(source, "%" PRId64 "];\n}\n",
                           emission->schedule->accesses[access].strides[KILN_STRIDE_ROW]);
}

void kiln_emit_routing_facts(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    if (kiln_contraction_of(emission)->problem.routing == KILN_ROUTING_NONE)
        return;
    append_reader(emission, KILN_PLACE_OFFSETS, "kiln_group_offset", source);
    append_reader(emission, KILN_PLACE_INDEX, "kiln_row_index", source);
    append_reader(emission, KILN_PLACE_KS, "kiln_row_ks", source);
}

void kiln_visit_routing_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(walk->emission);
    const struct kiln_ir *ir = walk->emission->ir;
    const struct kiln_op *product = &ir->ops[walk->emission->group->anchors[0]];
    const struct kiln_domain *tokens = &ir->domains[ir->ops[product->operands[0]].domain];
    const struct kiln_contraction *axes = &ir->contractions[product->contraction];
    if (contraction->problem.routing == KILN_ROUTING_NONE)
        return;
    kiln_visit_integer(walk, contraction->problem.groups, "groups");
    if (kiln_routing_has_rows(contraction->problem.routing))
        kiln_visit_integer(walk, (int64_t)kiln_row_tiles(contraction), "row_tiles");
    if (contraction->problem.routing == KILN_ROUTING_GATHER)
        kiln_visit_integer(walk, tokens->rank < 2 ? 1 : tokens->dims[tokens->rank - 2], "tokens");
    if (contraction->problem.routing == KILN_ROUTING_SCATTER) {
        kiln_visit_integer(walk, axes->top_k, "top_k");
        kiln_visit_integer(walk, (int64_t)kiln_group_tiles(contraction), "group_tiles");
    }
}
