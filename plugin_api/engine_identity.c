#include "plugin_api/engine_identity.h"

int64_t kiln_engine_id_of_name(const char *name)
{
    if (!name || !*name)
        return 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *byte = (const unsigned char *)name; *byte; byte++)
        hash = (hash ^ *byte) * UINT64_C(0x00000100000001b3);
    return (int64_t)hash;
}

int64_t kiln_engine_id(void)
{
    return kiln_engine_id_of_name(KILN_ENGINE_NAME);
}
