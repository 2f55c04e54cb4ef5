/*
 * Kiln's plugin as hipDNN sees it: a library with functions.
 */
#ifndef KILN_CLI_DOCTOR_DOCTOR_PLUGIN_H
#define KILN_CLI_DOCTOR_DOCTOR_PLUGIN_H

#include "plugin_api/hipdnn_plugin_abi.h"
#include "runtime/support/error.h"

#include <stdbool.h>

struct kiln_doctor_plugin {
    void *library; /* stays loaded: for a process that ends soon */
#define PLUGIN_FUNCTION(name, required) __typeof__(&name) name; /* NULL if it is missing */
#include "plugin_api/plugin_functions.def"
};

/* False, with a sentence, when it cannot be loaded or a required function is missing. */
bool kiln_doctor_plugin_load(struct kiln_doctor_plugin *plugin, const char *path,
                             struct kiln_error *error);

#endif
