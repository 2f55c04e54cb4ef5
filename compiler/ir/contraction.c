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

const struct kiln_contraction_axis *
kiln_contraction_only_axis(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    const struct kiln_contraction_axis *found = NULL;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role != role)
            continue;
        if (found != NULL)
            return NULL;
        found = &contraction->axes[i];
    }
    return found;
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

bool kiln_contraction_is_depthwise_gradient(const struct kiln_contraction *contraction)
{
    const struct kiln_contraction_axis *groups = NULL;
    bool has_channel = false; /* of the image, among the rows */
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (axis->role == KILN_AXIS_BATCH && axis->size > 1)
            groups = axis;
    }
    if (groups == NULL || groups->left == KILN_NO_AXIS || groups->right == KILN_NO_AXIS ||
        contraction->is_right_windowed)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (axis->role == KILN_AXIS_K && axis->left == groups->left)
            return false;
        if (axis->role == KILN_AXIS_M && axis->left == groups->left) {
            if (axis->size > 1)
                return false;
            has_channel = true;
        }
    }
    return has_channel;
}

struct kiln_contraction kiln_contraction_swap(const struct kiln_contraction *contraction)
{
    struct kiln_contraction swapped = *contraction;
    for (uint32_t i = 0; i < swapped.axis_count; i++) {
        const struct kiln_contraction_axis *old = &contraction->axes[i];
        struct kiln_contraction_axis *axis = &swapped.axes[i];
        axis->role = old->role == KILN_AXIS_M   ? KILN_AXIS_N
                     : old->role == KILN_AXIS_N ? KILN_AXIS_M
                                                : old->role;
        axis->left = old->right;
        axis->right = old->left;
        axis->left_repeat = old->right_repeat;
        axis->right_repeat = old->left_repeat;
        axis->left_step = old->right_step;
        axis->right_step = old->left_step;
    }
    swapped.is_right_windowed = contraction->window_count != 0 && !contraction->is_right_windowed;
    return swapped;
}
