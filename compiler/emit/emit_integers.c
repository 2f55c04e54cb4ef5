#include "compiler/emit/emit_integers.h"

#include <stdarg.h>
#include <stdio.h>

void kiln_visit_integer(struct kiln_integer_walk *walk, int64_t value, const char *name, ...)
{
    char text[48];
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    if (walk->source != NULL)
        kiln_buffer_printf(walk->source, "    long long %s;\n", text);
    if (walk->count++ == walk->wanted)
        walk->value = value;
}
