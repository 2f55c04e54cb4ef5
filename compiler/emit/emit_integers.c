#include "compiler/emit/emit_integers.h"

#include <stdarg.h>
#include <stdio.h>

void kiln_visit_integer(struct kiln_integer_walk *walk, int64_t value, const char *name, ...)
{
    if (walk->source != NULL) {
        char text[48];
        va_list arguments;
        va_start(arguments, name);
        (void)vsnprintf(text, sizeof text, name, arguments);
        va_end(arguments);
        kiln_buffer_printf(walk->source, "    long long %s;\n", text);
    }
    if (walk->values != NULL)
        walk->values[walk->count] = value;
    walk->count++;
}
