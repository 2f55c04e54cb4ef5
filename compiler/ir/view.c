#include "compiler/ir/view.h"

#include <string.h>

bool kiln_view_strides(const struct kiln_domain *domain, const int64_t *dims,
                       const int64_t *strides, uint32_t rank, int64_t *ret_strides)
{
    memset(ret_strides, 0, KILN_MAX_RANK * sizeof *ret_strides);
    uint32_t left = domain->rank;
    for (uint32_t i = rank; i-- > 0;) {
        int64_t inner = 1; /* elements of this axis that the split axes so far tell apart */
        while (left > 0 && inner < dims[i]) {
            if (domain->end != 0 && domain->rank - left == domain->block_axis) {
                if (inner != 1 || dims[i] != domain->end)
                    return false;
                left -= 2;
                ret_strides[left] = domain->dims[left + 1] * strides[i];
                ret_strides[left + 1] = strides[i];
                inner = dims[i];
                continue;
            }
            int64_t size = domain->dims[--left];
            if (size > dims[i] / inner)
                return false;
            if (size != 1)
                ret_strides[left] = inner * strides[i];
            inner *= size;
        }
        if (inner != dims[i])
            return false;
    }
    while (left > 0) {
        if (domain->dims[--left] != 1)
            return false;
    }
    return true;
}

struct kiln_domain kiln_domain_without_end(const struct kiln_domain *domain)
{
    struct kiln_domain whole = {.kept = domain->end == 0 ? domain->kept : 0};
    for (uint32_t i = 0; i < domain->rank; i++) {
        uint32_t from_right = domain->rank - 1 - i;
        bool is_block = domain->end != 0 && from_right == domain->block_axis;
        if (domain->end == 0 || from_right != domain->block_axis + 1)
            whole.dims[whole.rank++] = is_block ? domain->end : domain->dims[i];
    }
    return whole;
}

bool kiln_domain_splits(const struct kiln_domain *domain, const int64_t *dims, uint32_t rank)
{
    const int64_t none[KILN_MAX_RANK] = {0};
    int64_t strides[KILN_MAX_RANK];
    return kiln_view_strides(domain, dims, none, rank, strides);
}
