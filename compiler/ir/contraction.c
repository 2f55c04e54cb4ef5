#include "compiler/ir/contraction.h"

#include <stddef.h>

int64_t kiln_contraction_size(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role == role)
            size *= contraction->axes[i].size;
    }
    return size;
}

const struct kiln_contraction_window *
kiln_contraction_window_over(const struct kiln_contraction *contraction, bool is_right,
                             uint8_t axis)
{
    for (uint32_t i = 0; i < contraction->window_count; i++) {
        if (contraction->is_right_windowed == is_right && contraction->windows[i].axis == axis)
            return &contraction->windows[i];
    }
    return NULL;
}
