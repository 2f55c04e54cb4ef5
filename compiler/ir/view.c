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

bool kiln_domain_splits(const struct kiln_domain *domain, const int64_t *dims, uint32_t rank)
{
    const int64_t none[KILN_MAX_RANK] = {0};
    int64_t strides[KILN_MAX_RANK];
    return kiln_view_strides(domain, dims, none, rank, strides);
}
