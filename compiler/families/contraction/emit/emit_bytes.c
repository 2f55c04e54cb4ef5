#include "compiler/families/contraction/emit/emit_bytes.h"

#include <inttypes.h>

void kiln_emit_bytes_headers(const struct kiln_emission *emission, enum kiln_dtype staged,
                             struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        enum kiln_dtype dtype = emission->group->accesses[i].dtype;
        if (staged == KILN_DTYPE_F16 && (dtype == KILN_DTYPE_F8E4M3 || dtype == KILN_DTYPE_F8E5M2))
            kiln_template_append(inclusion, "device/mma/fp8_as_f16.h", source);
        if (emission->target->kind == KILN_TARGET_AMDGPU && dtype == KILN_DTYPE_I8)
            kiln_template_append(inclusion, "device/mma/i8_as_f32.h", source);
    }
}
