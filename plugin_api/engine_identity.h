/*
 * The one engine that the plugin offers.
 */
#ifndef KILN_PLUGIN_API_ENGINE_IDENTITY_H
#define KILN_PLUGIN_API_ENGINE_IDENTITY_H

#include <stdint.h>

#define KILN_ENGINE_NAME "KILN_FUSION_ENGINE"

/*
 * hipDNN's engine id of a name: 64-bit FNV-1a of its bytes without the NUL, read as a signed
 * number; 0 for NULL and for the empty name. Current hosts admit an engine only under this id.
 */
int64_t kiln_engine_id_of_name(const char *name);

/* The id of KILN_ENGINE_NAME. */
int64_t kiln_engine_id(void);

#endif
