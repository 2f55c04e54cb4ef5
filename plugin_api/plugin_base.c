/*
 * The functions of the ABI that every plugin has.
 */
#include "plugin_api/hipdnn_plugin_abi.h"
#include "plugin_api/last_error.h"
#include "plugin_api/log_bridge.h"
#include "runtime/support/version.h"

/* The level that names an engine; nothing of a lower level is promised but looked at: graphs with
 * override shapes, runtime scalars, ragged tensors and alignments are read for those, and declined
 * where Kiln cannot honour them. */
#define KILN_PLUGIN_API_VERSION "1.4.0"

static hipdnnPluginStatus_t give_text(const char *text, const char **ret_text, const char *what)
{
    if (!ret_text)
        return kiln_last_error_bad_param("no place to store the '%s'", what);
    *ret_text = text;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnPluginGetName(const char **name)
{
    return give_text("kiln", name, "name");
}

hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version)
{
    return give_text(kiln_version.text, version, "version");
}

hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version)
{
    return give_text(KILN_PLUGIN_API_VERSION, version, "API version");
}

hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type)
{
    if (!type)
        return kiln_last_error_bad_param("no place to store the '%s'", "type");
    *type = HIPDNN_PLUGIN_TYPE_ENGINE;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

void hipdnnPluginGetLastErrorString(const char **error_str)
{
    if (error_str)
        *error_str = kiln_last_error();
}

hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t callback)
{
    if (!callback)
        return kiln_last_error_bad_param("the logging 'callback' is NULL");
    kiln_log_bridge_set_callback(callback);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t level)
{
    if ((int)level < HIPDNN_SEV_INFO || (int)level > HIPDNN_SEV_OFF)
        return kiln_last_error_bad_param("log level %d is none of 0 to %d", (int)level,
                                         HIPDNN_SEV_OFF);
    kiln_log_bridge_set_level(level);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}
