#include "compiler/kernel_family.h"

const char *kiln_family_name(enum kiln_kernel_family family)
{
    static const char *const names[] = {
#define KILN_FAMILY(name, lower, op_class, text) #lower,
#include "compiler/kernel_family.def"
    };
    return names[family];
}

const char *kiln_family_text(enum kiln_kernel_family family)
{
    static const char *const texts[] = {
#define KILN_FAMILY(name, lower, op_class, text) text,
#include "compiler/kernel_family.def"
    };
    return texts[family];
}
