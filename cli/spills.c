#include "cli/spills.h"

#include "cli/text.h"

json_t *kiln_spills_to_json(const struct kiln_compiled_program *program)
{
    json_t *spills = NULL;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const struct kiln_kernel_resources *resources = &program->kernels[i].object.resources;
        if (resources->scratch_bytes == 0)
            continue;
        json_t *spill = kiln_json_object();
        kiln_json_set(spill, "kernel", json_integer(i));
        kiln_json_set(spill, "symbol", kiln_json_text(program->kernels[i].symbol));
        kiln_json_set(spill, "scratch_bytes", json_integer(resources->scratch_bytes));
        kiln_json_set(spill, "vgpr_spills", json_integer(resources->vgpr_spills));
        kiln_json_set(spill, "sgpr_spills", json_integer(resources->sgpr_spills));
        if (spills == NULL)
            spills = kiln_json_array();
        kiln_json_append(spills, spill);
    }
    return spills;
}
