/*
 * The error text of each thread, and how Kiln's statuses read in hipDNN's.
 */
#ifndef KILN_PLUGIN_API_LAST_ERROR_H
#define KILN_PLUGIN_API_LAST_ERROR_H

#include "plugin_api/hipdnn_plugin_abi.h"
#include "runtime/support/error.h"

/* Characters of the text that hipDNN's frontend shows. */
enum { KILN_LAST_ERROR_SEEN = 160 };

/* The text of the last call that failed on this thread; never NULL, empty before the first. */
const char *kiln_last_error(void);

/* Remembers what failed and what to do about it, in one line, for this thread and returns the
 * status that stands for its cause. */
hipdnnPluginStatus_t kiln_last_error_set(const struct kiln_error *error) KILN_NODISCARD;

/* The same for an argument that the host got wrong: BAD_PARAM. */
hipdnnPluginStatus_t kiln_last_error_bad_param(const char *format, ...)
    KILN_PRINTF(1, 2) KILN_NODISCARD;

#endif
