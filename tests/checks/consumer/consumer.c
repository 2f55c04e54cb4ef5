/*
 * Loads the installed plugin as hipDNN does and asks for its engines.
 */
#include <kiln/hipdnn_plugin_abi.h>

#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *plugin = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    __typeof__(&hipdnnPluginGetName) get_name;
    __typeof__(&hipdnnEnginePluginGetAllEngineIds) get_ids;
    *(void **)&get_name = dlsym(plugin, "hipdnnPluginGetName");
    *(void **)&get_ids = dlsym(plugin, "hipdnnEnginePluginGetAllEngineIds");
    if (!get_name || !get_ids) {
        fputs("functions of the plugin API are missing\n", stderr);
        return 1;
    }
    const char *name = NULL;
    int64_t id = 0;
    uint32_t count = 0;
    if (get_name(&name) || get_ids(&id, 1, &count) || count != 1 || id == 0) {
        fputs("the plugin does not name its one engine\n", stderr);
        return 1;
    }
    printf("%s: engine %lld\n", name, (long long)id);
    return 0;
}
