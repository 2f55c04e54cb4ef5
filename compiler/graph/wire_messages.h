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

#include <stdbool.h>

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

/* A knob as EngineDetails lists it. All of Kiln's are integers. */
struct kiln_knob_description {
    const char *id;
    const char *text;
    int64_t least, most, step;
    int64_t none; /* the default */
};

/* Bytes of a knob's name with its NUL; a longer name is cut, and is no knob of Kiln. Settings that
 * an EngineConfig may have. */
enum { KILN_KNOB_ID_BYTES = 64, KILN_MAX_KNOB_SETTINGS = 64 };

/* A knob that a host has set. */
struct kiln_knob_setting {
    char id[KILN_KNOB_ID_BYTES];
    bool is_integer; /* false: the value has another type, or is missing */
    int64_t value;
};

struct kiln_engine_config {
    int64_t engine_id;
    uint32_t setting_count;
    struct kiln_knob_setting settings[KILN_MAX_KNOB_SETTINGS];
};

/* Reads an EngineConfig of either era, any alignment. KILN_BAD_ARGUMENT when the bytes are no
 * EngineConfig, or have too many settings. */
enum kiln_status kiln_engine_config_read(const void *bytes, size_t size,
                                         struct kiln_engine_config *ret_config,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Writes an EngineConfig. Without settings, either era reads it. For tests and tools. */
enum kiln_status kiln_engine_config_write(int64_t engine_id,
                                          const struct kiln_knob_setting *settings,
                                          size_t setting_count, struct kiln_buffer *buffer,
                                          struct kiln_error *error) KILN_NODISCARD;

/* Content of an EngineDetails. */
struct kiln_engine_details {
    int64_t engine_id;
    const char *name; /* may be NULL */
    const enum kiln_behavior_note *notes;
    size_t note_count;
    const struct kiln_knob_description *knobs;
    size_t knob_count;
};

/* Writes an EngineDetails. One message serves both eras: the older reads only the id. */
enum kiln_status kiln_engine_details_write(const struct kiln_engine_details *details,
                                           struct kiln_buffer *buffer,
                                           struct kiln_error *error) KILN_NODISCARD;
/* Reads it back, for tests and tools: the id, the name ("" when absent), a bit per note below 32.
 */
enum kiln_status kiln_engine_details_read(const void *bytes, size_t size, int64_t *ret_engine_id,
                                          char ret_name[KILN_ENGINE_NAME_BYTES],
                                          uint32_t *ret_notes,
                                          struct kiln_error *error) KILN_NODISCARD;
/* Reads back a knob by its name, for tests: false if the message lists none of this name, or one
 * that is no integer with an integer's constraint. The texts of the description are NULL. */
bool kiln_engine_details_find_knob(const void *bytes, size_t size, const char *id,
                                   struct kiln_knob_description *ret_knob);

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
