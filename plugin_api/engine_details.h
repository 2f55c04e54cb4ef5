/*
 * EngineDetails messages: behaviour notes, and the knobs that apply to a graph.
 */
#ifndef KILN_PLUGIN_API_ENGINE_DETAILS_H
#define KILN_PLUGIN_API_ENGINE_DETAILS_H

#include "runtime/engine/engine.h"

/* The details for a graph. The bytes live as long as the library and are shared by all graphs with
 * the same knobs. A graph that cannot be read has the knobs of every graph. */
enum kiln_status kiln_engine_details_of(const struct kiln_engine *engine, const void *graph_bytes,
                                        size_t size, const struct kiln_buffer **ret_details,
                                        struct kiln_error *error) KILN_NODISCARD;

/* True for bytes that kiln_engine_details_of has given out; `bytes` may be any value. */
bool kiln_engine_details_are_ours(const void *bytes);

#endif
