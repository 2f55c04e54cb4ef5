/*
 * The small messages with FlatBuffers.
 *
 * The library allocates as C++ does; its bad_alloc becomes KILN_NO_MEMORY here, so that no
 * exception crosses the C header.
 */
#include "compiler/graph/wire_writing.hpp"

#include "compiler/graph/wire_messages.h"

#include <algorithm>

using namespace kiln::wire;

namespace {

/* A small message at an aligned address while a function looks at it. */
template <typename Root, typename Function>
enum kiln_status with_message(const void *bytes, size_t size, const char *what,
                              struct kiln_error *error, const Function &function)
{
    struct kiln_arena scratch;
    kiln_arena_init(&scratch);
    enum kiln_status status = KILN_OK;
    const uint8_t *aligned = size <= KILN_MAX_GRAPH_BYTES ? align(bytes, size, &scratch) : nullptr;
    if (aligned == nullptr || !verify<Root>(aligned, size))
        status =
            kiln_error_set(error, KILN_BAD_ARGUMENT, "%zu bytes are no valid '%s'", size, what);
    else
        function(*flatbuffers::GetRoot<Root>(aligned));
    kiln_arena_fini(&scratch);
    return status;
}

} // namespace

extern "C" enum kiln_status kiln_engine_config_read(const void *bytes, size_t size,
                                                    int64_t *ret_engine_id,
                                                    struct kiln_error *error)
{
    return with_message<current::EngineConfig>(
        bytes, size, "EngineConfig", error,
        [&](const current::EngineConfig &config) { *ret_engine_id = config.engine_id(); });
}

extern "C" enum kiln_status kiln_engine_config_write(int64_t engine_id, struct kiln_buffer *buffer,
                                                     struct kiln_error *error)
{
    return guard(error, [&] {
        Builder builder(64);
        builder.Finish(current::CreateEngineConfig(builder, engine_id));
        return finish(builder, buffer, error);
    });
}

extern "C" enum kiln_status kiln_engine_details_write(int64_t engine_id, const char *name,
                                                      const enum kiln_behavior_note *notes,
                                                      size_t note_count, struct kiln_buffer *buffer,
                                                      struct kiln_error *error)
{
    return guard(error, [&] {
        Builder builder(256);
        flatbuffers::Offset<flatbuffers::String> name_text;
        flatbuffers::Offset<flatbuffers::Vector<int32_t>> note_list;
        if (name != nullptr)
            name_text = builder.CreateString(name);
        if (note_count != 0)
            note_list = builder.CreateVector<int32_t>(
                note_count, [notes](size_t i) { return static_cast<int32_t>(notes[i]); });
        builder.Finish(current::CreateEngineDetails(builder, engine_id, 0, note_list, name_text));
        return finish(builder, buffer, error);
    });
}

extern "C" enum kiln_status kiln_engine_details_read(const void *bytes, size_t size,
                                                     int64_t *ret_engine_id,
                                                     char ret_name[KILN_ENGINE_NAME_BYTES],
                                                     uint32_t *ret_notes, struct kiln_error *error)
{
    return with_message<current::EngineDetails>(
        bytes, size, "EngineDetails", error, [&](const current::EngineDetails &details) {
            const struct kiln_wire_text name = text(details.name());
            const size_t length = std::min<size_t>(name.length, KILN_ENGINE_NAME_BYTES - 1);
            std::memcpy(ret_name, name.bytes, length);
            ret_name[length] = '\0';
            *ret_engine_id = details.engine_id();
            *ret_notes = 0;
            const auto *notes = details.behavior_notes();
            for (uint32_t i = 0; notes != nullptr && i < notes->size(); i++) {
                if (notes->Get(i) >= 0 && notes->Get(i) < 32)
                    *ret_notes |= uint32_t{1} << notes->Get(i);
            }
        });
}
