/* A library that tells where it is. */
#include "runtime/support/own_path.h"

#include <stddef.h>

__attribute__((visibility("default"))) char *own_path_of_module(void);

char *own_path_of_module(void)
{
    return kiln_own_path(NULL);
}
