#include "plugin_api/last_error.h"

#include <stdarg.h>
#include <stdio.h>

/* A plain array: a thread-local destructor would keep the library from being unloaded. */
static _Thread_local char last_error[HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH];

const char *kiln_last_error(void)
{
    return last_error;
}

/* Of a failure: never success, which would have the host use an output that was not written. Only
 * statuses that hosts of Nov 2025 know too. */
static hipdnnPluginStatus_t plugin_status(enum kiln_status status)
{
    switch (status) {
    case KILN_BAD_ARGUMENT:
        return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
    case KILN_REJECTED:
        return HIPDNN_PLUGIN_STATUS_INVALID_VALUE;
    case KILN_NO_MEMORY:
        return HIPDNN_PLUGIN_STATUS_ALLOC_FAILED;
    default:
        return HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR;
    }
}

hipdnnPluginStatus_t kiln_last_error_set(const struct kiln_error *error)
{
    snprintf(last_error, sizeof(last_error), "%s", error->text);
    return plugin_status(error->status);
}

hipdnnPluginStatus_t kiln_last_error_bad_param(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
}
