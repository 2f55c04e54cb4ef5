#include "compiler/emit/emit_bytes.h"

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

void kiln_emit_fp8_as_half(uint32_t access, enum kiln_dtype dtype, uint32_t count,
                           const char *element, struct kiln_buffer *source)
{
    const char *type = kiln_dtype_info(dtype)->device;
    kiln_buffer_printf(source,
                       "    KILN_UNROLL\n    for (unsigned f = 0; f < %" PRIu32 "; f += 4) "
                       "{\n        kiln_storage_%s four[4];\n        KILN_UNROLL\n"
                       "        for (unsigned e = f; e < f + 4; e++)\n"
                       "            four[e - f] = inputs.x%" PRIu32 "[%s];\n"
                       "        kiln_%s_as_f16(four, out + f);\n    }\n",
                       count, type, access, element, type);
}

void kiln_emit_i8_as_floats(uint32_t access, uint32_t count, uint32_t run,
                            struct kiln_buffer *source)
{
    kiln_buffer_printf(source, "    float floats%" PRIu32 "[%" PRIu32 "];\n", access, count);
    if (run == 1) {
        kiln_buffer_printf(source, "    kiln_i8_as_f32(inputs.x%" PRIu32 ", floats%" PRIu32 ");\n",
                           access, access);
        return;
    }
    kiln_buffer_printf(source,
                       "    kiln_storage_i8 row%" PRIu32 "[%" PRIu32 "];\n"
                       "    kiln_take_row<%" PRIu32 ">(inputs.x%" PRIu32 ", r, row%" PRIu32 ");\n"
                       "    kiln_i8_as_f32(row%" PRIu32 ", floats%" PRIu32 ");\n",
                       access, count, run, access, access, access, access);
}
