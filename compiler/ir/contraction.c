#include "compiler/ir/contraction.h"

int64_t kiln_contraction_size(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role == role)
            size *= contraction->axes[i].size;
    }
    return size;
}
