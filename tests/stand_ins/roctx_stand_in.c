/*
 * A stand-in for roctx: keeps the names of ranges, and how they nest, in a text.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern char roctx_stand_in_text[4096];
EXPORT int roctxRangePushA(const char *name);
EXPORT int roctxRangePop(void);

char roctx_stand_in_text[4096];

static int append(const char *piece)
{
    size_t used = strlen(roctx_stand_in_text);
    return snprintf(roctx_stand_in_text + used, sizeof roctx_stand_in_text - used, "%s", piece);
}

int roctxRangePushA(const char *name)
{
    return append(name) + append("(");
}

int roctxRangePop(void)
{
    return append(")");
}
