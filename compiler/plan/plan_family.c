#include "compiler/plan/plan_family.h"

#define KILN_FAMILY(name, lower, op_class, text, reason)                                           \
    extern const struct kiln_plan_family kiln_plan_##lower;
#include "compiler/kernel_family.def"

const struct kiln_plan_family *kiln_plan_family(enum kiln_kernel_family family)
{
    static const struct kiln_plan_family *const families[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) &kiln_plan_##lower,
#include "compiler/kernel_family.def"
    };
    return families[family];
}
