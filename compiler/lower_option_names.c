/* Apart from lower_options.c, so that tests can replace that. */
#include "compiler/lower_options.h"

#include <string.h>

static const char *const shape_names[] = {
    [KILN_SHAPES_CONSTANT] = "constant",
    [KILN_SHAPES_ARGUMENT] = "argument",
    [KILN_SHAPES_AUTO] = "auto",
};

const char *kiln_shapes_name(size_t shapes)
{
    return shapes < sizeof shape_names / sizeof *shape_names ? shape_names[shapes] : NULL;
}

bool kiln_shapes_parse(const char *text, enum kiln_shapes *ret_shapes)
{
    for (size_t i = 0; kiln_shapes_name(i) != NULL; i++) {
        if (strcmp(text, kiln_shapes_name(i)) == 0) {
            *ret_shapes = (enum kiln_shapes)i;
            return true;
        }
    }
    return false;
}
