#include "compiler/schedule/schedule_family.h"

#define KILN_FAMILY(name, lower, op_class, text, reason)                                           \
    extern const struct kiln_schedule_family kiln_schedule_family_##lower;
#include "compiler/kernel_family.def"

const struct kiln_schedule_family *kiln_schedule_family(enum kiln_kernel_family family)
{
    static const struct kiln_schedule_family *const families[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) &kiln_schedule_family_##lower,
#include "compiler/kernel_family.def"
    };
    return families[family];
}
