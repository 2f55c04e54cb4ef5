/*
 * What an engine is made of, for the files of this folder.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_STATE_H
#define KILN_RUNTIME_ENGINE_ENGINE_STATE_H

#include "runtime/engine/declined_graphs.h"
#include "runtime/engine/module_table.h"

struct kiln_engine {
    atomic_uint references;
    char *cache_directory; /* owned copies of the options; NULL as there */
    char *device_name;
    struct kiln_codegen *codegen;
    struct kiln_engine_devices devices;
    struct kiln_program_cache programs;
    struct kiln_module_table modules;
    struct kiln_declined_graphs declined;
};

#endif
