#include "compiler/fuse/choice.h"

const char *kiln_choice_text(enum kiln_choice_number number)
{
    static const char *const texts[] = {
#define KILN_CHOICE(name, text) text,
#include "compiler/fuse/choice.def"
    };
    return texts[number];
}
