#include "compiler/lower_options.h"

void kiln_lower_options_append_key(const struct kiln_lower_options *options,
                                   struct kiln_buffer *key)
{
    kiln_buffer_append_u32(key, options->no_fusion);
    kiln_buffer_append_u32(key, options->max_vector_elements);
    kiln_buffer_append_u32(key, options->host_wave_size);
    kiln_buffer_append_u32(key, options->max_groups);
    kiln_buffer_append_u32(key, options->skipped_forms);
    kiln_buffer_append_u32(key, options->max_part_weight);
    const struct kiln_contraction_options *contraction = &options->contraction;
    kiln_buffer_append_u32(key, contraction->form);
    kiln_buffer_append_u32(key, contraction->tile_m);
    kiln_buffer_append_u32(key, contraction->tile_n);
    kiln_buffer_append_u32(key, contraction->tile_k);
    kiln_buffer_append_u32(key, contraction->waves_m);
    kiln_buffer_append_u32(key, contraction->waves_n);
    kiln_buffer_append_u32(key, contraction->waves_k);
    kiln_buffer_append_u32(key, contraction->segments);
    kiln_buffer_append_u32(key, options->shapes);
    kiln_buffer_append_u64(key, options->workspace_limit);
    kiln_buffer_append_u32(key, options->is_general);
}

struct kiln_lower_options kiln_lower_options_settled(const struct kiln_lower_options *options)
{
    struct kiln_lower_options settled = *options;
    /* Any tile serves all sizes; sums of segments need a kernel more. */
    if (options->is_general)
        settled.contraction =
            (struct kiln_contraction_options){.form = KILN_CONTRACTION_PLAIN, .segments = 1};
    return settled;
}
