#include "runtime/support/library_lifetime.h"

#include <dlfcn.h>
#include <stddef.h>

void kiln_library_keep_loaded(void)
{
    static const char anchor;
    Dl_info here;
    if (dladdr(&anchor, &here) != 0 && here.dli_fname != NULL)
        (void)dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
