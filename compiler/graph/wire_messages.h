/*
 * hipDNN's other FlatBuffers messages, and writing graphs.
 *
 * Buffers that are written to must be empty, so that the message is aligned as FlatBuffers wants
 * it. No C++ type or exception crosses this header.
 */
#ifndef KILN_COMPILER_GRAPH_WIRE_MESSAGES_H
#define KILN_COMPILER_GRAPH_WIRE_MESSAGES_H

#include "compiler/graph/graph.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Notes of EngineDetails (hipdnn-plugin-abi.md 14.4). */
enum kiln_behavior_note {
    KILN_BEHAVIOR_RUNTIME_COMPILATION = 0,
    KILN_BEHAVIOR_LAYOUT_TRANSFORM = 1,
    KILN_BEHAVIOR_GRAPH_CAPTURE = 2,
    KILN_BEHAVIOR_EXTERNAL_LIBRARY = 3,
    KILN_BEHAVIOR_PLAN_SERIALIZATION = 4,
};

/* Bytes of an engine name with its NUL that kiln_engine_details_read returns at most. */
enum { KILN_ENGINE_NAME_BYTES = 64 };

/*
 * Reads an EngineConfig of either era, any alignment. Knob settings are verified and ignored: Kiln
 * declares none. KILN_BAD_ARGUMENT when the bytes are no EngineConfig.
 */
enum kiln_status kiln_engine_config_read(const void *bytes, size_t size, int64_t *ret_engine_id,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Writes an EngineConfig without knobs; either era reads it. For tests and tools. */
enum kiln_status kiln_engine_config_write(int64_t engine_id, struct kiln_buffer *buffer,
                                          struct kiln_error *error) KILN_NODISCARD;

/*
 * Writes an EngineDetails. One message serves both eras: the older reads only the id.
 * `name` may be NULL, `notes` too when `note_count` is 0.
 */
enum kiln_status kiln_engine_details_write(int64_t engine_id, const char *name,
                                           const enum kiln_behavior_note *notes, size_t note_count,
                                           struct kiln_buffer *buffer,
                                           struct kiln_error *error) KILN_NODISCARD;
/* Reads it back, for tests and tools: the id, the name ("" when absent), a bit per note below 32.
 */
enum kiln_status kiln_engine_details_read(const void *bytes, size_t size, int64_t *ret_engine_id,
                                          char ret_name[KILN_ENGINE_NAME_BYTES],
                                          uint32_t *ret_notes,
                                          struct kiln_error *error) KILN_NODISCARD;

/*
 * Writes a graph in the layout of an era, so that reading it back gives the same canonical form.
 * KILN_UNSUPPORTED when the layout cannot express it. NOV2025 lacks newer data types and kinds of
 * nodes, host scalars, alignments other than 16, and compute types that differ between nodes. Each
 * layout lacks the other's form of batchnorm inference.
 */
enum kiln_status kiln_graph_write(const struct kiln_graph *graph, enum kiln_wire_era era,
                                  struct kiln_buffer *buffer,
                                  struct kiln_error *error) KILN_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
