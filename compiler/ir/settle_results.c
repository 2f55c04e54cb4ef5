#include "compiler/ir/passes.h"

enum kiln_status kiln_ir_settle_results(struct kiln_ir *ir, struct kiln_pass_context *context,
                                        struct kiln_error *error)
{
    (void)context, (void)error;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        if (ir->results[i].fate == KILN_RESULT_ABSORBED)
            ir->results[i].fate = KILN_RESULT_UNUSED;
    }
    return KILN_OK;
}
