/* hipDNN's backend as far as the doctor asks it. FAKE_HIPDNN_PLUGIN names the one plugin that it
 * has loaded; FAKE_HIPDNN_STATUS is what it gives instead of a handle. */
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int hipdnnCreate(void **handle);
EXPORT int hipdnnGetLoadedEnginePluginPaths_ext(void *handle, size_t *count, char **paths,
                                                size_t *max_bytes);
EXPORT const char *hipdnnVersionString_ext(void);

int hipdnnCreate(void **handle)
{
    const char *status = getenv("FAKE_HIPDNN_STATUS");
    *handle = handle;
    return status ? atoi(status) : 0;
}

int hipdnnGetLoadedEnginePluginPaths_ext(void *handle, size_t *count, char **paths,
                                         size_t *max_bytes)
{
    const char *plugin = getenv("FAKE_HIPDNN_PLUGIN");
    if (!handle)
        return 1;
    *count = plugin ? 1 : 0;
    *max_bytes = plugin ? strlen(plugin) + 1 : 0;
    if (plugin && paths)
        memcpy(paths[0], plugin, *max_bytes);
    return 0;
}

const char *hipdnnVersionString_ext(void)
{
    return "9.8.7";
}
