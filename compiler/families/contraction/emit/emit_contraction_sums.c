/*
 * Facts about what becomes of the sums of an operand's rows, for device/contraction/operand_sums.h.
 */
#include "compiler/emit/emit_access.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"

#include <inttypes.h>

static bool is_of_sums(const struct kiln_emission *emission, uint32_t access)
{
    return emission->group->accesses[access].place == KILN_PLACE_SUM;
}

static void append_list(const struct kiln_emission *emission, const char *name, uint32_t first,
                        uint32_t end, struct kiln_buffer *source)
{
    const char *side = kiln_contraction_of(emission)->operand_sum.is_right ? "right" : "left";
    for (uint32_t i = first; i < end; i++) {
        if (is_of_sums(emission, i))
            kiln_emit_result_access(emission, i, side, source);
    }
    kiln_buffer_printf(source, "#define KILN_SUM_%s(use)", name);
    for (uint32_t i = first; i < end; i++) {
        if (is_of_sums(emission, i))
            kiln_emit_result_use(emission, i, source);
    }
    kiln_buffer_append_text(source, "\n");
}

void kiln_emit_contraction_sums(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = emission->group;
    struct kiln_value_table table;
    append_list(emission, "LOADS", 0, group->load_count, source);
    append_list(emission, "STORES", group->load_count, group->access_count, source);
    kiln_buffer_append_text(source, "KILN_DEVICE void kiln_sum_element(const kiln_arguments "
                                    "&arguments, kiln_sum sum");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (is_of_sums(emission, i))
            kiln_buffer_printf(source, ", kiln_storage_%s %s%" PRIu32,
                               kiln_storage_suffix(&group->accesses[i]),
                               i < group->load_count ? "x" : "&y", i);
    }
    kiln_buffer_append_text(source, ")\n{\n");
    if (!kiln_contraction_table_init(emission, KILN_PLACE_SUM, &table)) {
        source->failed = true;
        return;
    }
    kiln_emit_contraction_values(emission, &table, KILN_PLACE_SUM, source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!is_of_sums(emission, i))
            continue;
        kiln_buffer_printf(source, "        y%" PRIu32 " = ", i);
        kiln_emit_encoded(emission, &table, i, source);
        kiln_buffer_append_text(source, ";\n");
    }
    kiln_buffer_append_text(source, "}\n");
    kiln_value_table_fini(&table);
}
