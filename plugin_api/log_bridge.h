/*
 * Kiln's log lines to hipDNN's logging callback.
 *
 * hipDNN prints the text as it is, so the bridge writes the whole line:
 * [YYYY-MM-DD HH:MM:SS.mmm] [tid N] [level] [kiln] message
 *
 * Level: KILN_LOG_LEVEL when set, else what the host said with hipdnnPluginSetLogLevel, else
 * HIPDNN_LOG_LEVEL (hosts of Nov 2025 tell plugins no level), else off. With KILN_LOG_LEVEL, lines
 * that the host's own level drops are written to standard error as well.
 */
#ifndef KILN_PLUGIN_API_LOG_BRIDGE_H
#define KILN_PLUGIN_API_LOG_BRIDGE_H

#include "plugin_api/hipdnn_plugin_abi.h"

/* Sends lines to the callback from now on; takes the level from the environment unless the host
 * told one. */
void kiln_log_bridge_set_callback(hipdnnCallback_t callback);
/* For a host that has set no callback by the time that it makes a handle: lines go to standard
 * error when KILN_LOG_LEVEL asks for them. */
void kiln_log_bridge_start(void);
/* `level` must be one of the enumeration. */
void kiln_log_bridge_set_level(hipdnnSeverity_t level);

#endif
