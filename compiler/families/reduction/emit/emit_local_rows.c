#include "compiler/families/reduction/emit/emit_local_rows.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/reduction/schedule/reduction_local.h"

#include <inttypes.h>

enum { WORD_BYTES = 16 };

static bool is_staged(const struct kiln_reduction_emission *reduction, uint32_t access)
{
    return reduction->emission->schedule->accesses[access].mode == KILN_ACCESS_STAGED;
}

static const char *storage_of(const struct kiln_reduction_emission *reduction, uint32_t access)
{
    return kiln_storage_suffix(&reduction->emission->group->accesses[access]);
}

static uint32_t elements_of(const struct kiln_reduction_emission *reduction, uint32_t access)
{
    return kiln_local_elements(reduction->emission->group, reduction->emission->schedule, access);
}

/* Words of a work-item, at most. */
static uint32_t words_of(const struct kiln_reduction_emission *reduction, uint32_t access)
{
    const struct kiln_access *memory = &reduction->emission->group->accesses[access];
    uint32_t words =
        elements_of(reduction, access) * kiln_dtype_info(memory->dtype)->bytes / WORD_BYTES;
    uint32_t block = reduction->emission->schedule->launch.block;
    return (words + block - 1) / block;
}

static void append_arrays(const struct kiln_reduction_emission *reduction, uint32_t begin,
                          uint32_t end, const char *name, struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "        struct {\n");
    for (uint32_t i = begin; i < end; i++) {
        if (is_staged(reduction, i))
            kiln_buffer_printf(
                source, "            alignas(16) kiln_storage_%s t%" PRIu32 "[%" PRIu32 "];\n",
                storage_of(reduction, i), i, elements_of(reduction, i));
    }
    kiln_buffer_printf(source, "        } %s;\n", name);
}

/* "arguments.a3 + first * 17": where the rows of a work-group begin. */
static void append_begin(const struct kiln_reduction_emission *reduction, uint32_t access,
                         struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "arguments.a%" PRIu32 " + first * (kiln_index)%" PRIu64, access,
                       reduction->emission->schedule->walk.cols);
}

static bool has_results(const struct kiln_reduction_emission *reduction)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    bool any = false;
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        any = any || is_staged(reduction, i);
    return any;
}

static void append_head(const char *name, struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "KILN_DEVICE void %s(const kiln_arguments &arguments, kiln_index first, "
                       "unsigned rows, kiln_local &local)\n{\n"
                       "    (void)arguments, (void)first, (void)rows, (void)local;\n",
                       name);
}

static void append_fetch(const struct kiln_reduction_emission *reduction,
                         struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    append_head("kiln_fetch_rows", source);
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (!is_staged(reduction, i))
            continue;
        kiln_buffer_printf(
            source, "    kiln_fetched<kiln_storage_%s, %" PRIu32 "> f%" PRIu32 ";\n    kiln_fetch(",
            storage_of(reduction, i), words_of(reduction, i), i);
        append_begin(reduction, i, source);
        kiln_buffer_printf(source, ", rows * %" PRIu64 "u, f%" PRIu32 ");\n",
                           reduction->emission->schedule->walk.cols, i);
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (is_staged(reduction, i))
            kiln_buffer_printf(
                source, "    kiln_put_rows(f%" PRIu32 ", local.rows.operands.t%" PRIu32 ");\n", i,
                i);
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_find(const struct kiln_reduction_emission *reduction, struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    kiln_buffer_append_text(source,
                            "KILN_DEVICE void kiln_find_row(const kiln_arguments &arguments, "
                            "kiln_index first, unsigned row, kiln_local &local, "
                            "kiln_position &position)\n{\n");
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (!is_staged(reduction, i))
            continue;
        kiln_buffer_printf(
            source, "    position.t%" PRIu32 " = local.rows.%s.t%" PRIu32 " + (kiln_place_in_word(",
            i, i < group->load_count ? "operands" : "results", i);
        append_begin(reduction, i, source);
        kiln_buffer_printf(source, ") + row * %" PRIu64 "u);\n",
                           reduction->emission->schedule->walk.cols);
    }
    kiln_buffer_append_text(source, "}\n");
}

static void append_return(const struct kiln_reduction_emission *reduction,
                          struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    append_head("kiln_return_rows", source);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (!is_staged(reduction, i))
            continue;
        kiln_buffer_printf(source, "    kiln_store_rows<kiln_storage_%s, %" PRIu32 ">(",
                           storage_of(reduction, i), words_of(reduction, i));
        append_begin(reduction, i, source);
        kiln_buffer_printf(source, ", rows * %" PRIu64 "u, local.rows.results.t%" PRIu32 ");\n",
                           reduction->emission->schedule->walk.cols, i);
    }
    kiln_buffer_append_text(source, "}\n");
}

void kiln_emit_local_rows(const struct kiln_reduction_emission *reduction,
                          struct kiln_buffer *source)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    kiln_buffer_printf(source, "struct kiln_local {\n    %s {\n",
                       reduction->reduction->results_replace_operands ? "union" : "struct");
    append_arrays(reduction, 0, group->load_count, "operands", source);
    if (has_results(reduction))
        append_arrays(reduction, group->load_count, group->access_count, "results", source);
    kiln_buffer_append_text(source, "    } rows;\n");
    if (reduction->lds_entries != 0)
        kiln_buffer_append_text(source, "    kiln_shared shared[1];\n");
    kiln_buffer_append_text(source, "};\n");
    append_fetch(reduction, source);
    append_find(reduction, source);
    append_return(reduction, source);
}
