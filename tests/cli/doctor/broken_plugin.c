/* A library with all functions of the ABI. Each fails. BROKEN_PLUGIN=crash ends the
 * process that loads it. */
#include <stdlib.h>
#include <string.h>

#define PLUGIN_FUNCTION(name, required)                                                            \
    __attribute__((visibility("default"))) int name(void);                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return 3;                                                                                  \
    }
#include "plugin_api/plugin_functions.def"

__attribute__((constructor)) static void load(void)
{
    const char *mode = getenv("BROKEN_PLUGIN");
    if (mode && strcmp(mode, "crash") == 0)
        abort();
}
