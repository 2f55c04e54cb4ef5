/*
 * The small messages with FlatBuffers.
 *
 * The library allocates as C++ does; its bad_alloc becomes KILN_NO_MEMORY here, so that no
 * exception crosses the C header.
 */
#include "compiler/graph/wire_writing.hpp"

#include "compiler/graph/wire_messages.h"

#include <algorithm>
#include <vector>

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

namespace {

void read_setting(const current::KnobSetting &wire, struct kiln_knob_setting &setting)
{
    const struct kiln_wire_text id = text(wire.knob_id());
    const size_t length = std::min<size_t>(id.length, KILN_KNOB_ID_BYTES - 1);
    const current::IntValue *value = wire.value_as_IntValue();
    setting = {};
    std::memcpy(setting.id, id.bytes, length);
    setting.is_integer = value != nullptr;
    setting.value = value != nullptr ? value->value() : 0;
}

flatbuffers::Offset<current::Knob> write_knob(Builder &builder,
                                              const struct kiln_knob_description &knob)
{
    const auto id = builder.CreateString(knob.id);
    const auto text = builder.CreateString(knob.text);
    const auto value = current::CreateIntValue(builder, knob.none);
    const auto constraint = current::CreateIntConstraint(builder, knob.least, knob.most, knob.step);
    return current::CreateKnob(builder, id, text, current::KnobValue_IntValue, value.Union(),
                               current::KnobConstraint_IntConstraint, constraint.Union());
}

} // namespace

extern "C" enum kiln_status kiln_engine_config_read(const void *bytes, size_t size,
                                                    struct kiln_engine_config *ret_config,
                                                    struct kiln_error *error)
{
    uint32_t count = 0;
    enum kiln_status status = with_message<current::EngineConfig>(
        bytes, size, "EngineConfig", error, [&](const current::EngineConfig &config) {
            const auto *settings = config.knobs();
            count = settings != nullptr ? settings->size() : 0;
            if (count > KILN_MAX_KNOB_SETTINGS)
                return;
            ret_config->engine_id = config.engine_id();
            ret_config->setting_count = count;
            for (uint32_t i = 0; i < count; i++)
                read_setting(*settings->Get(i), ret_config->settings[i]);
        });
    if (status == KILN_OK && count > KILN_MAX_KNOB_SETTINGS)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the config sets %u knobs, at most %d are supported", count,
                              KILN_MAX_KNOB_SETTINGS);
    return status;
}

extern "C" enum kiln_status
kiln_engine_config_write(int64_t engine_id, const struct kiln_knob_setting *settings,
                         size_t setting_count, struct kiln_buffer *buffer, struct kiln_error *error)
{
    return guard(error, [&] {
        Builder builder(64);
        std::vector<flatbuffers::Offset<current::KnobSetting>> list;
        for (size_t i = 0; i < setting_count; i++) {
            const auto id = builder.CreateString(settings[i].id);
            const auto value =
                settings[i].is_integer
                    ? current::CreateIntValue(builder, settings[i].value).Union()
                    : current::CreateFloatValue(builder, static_cast<double>(settings[i].value))
                          .Union();
            list.push_back(current::CreateKnobSetting(builder, id,
                                                      settings[i].is_integer
                                                          ? current::KnobValue_IntValue
                                                          : current::KnobValue_FloatValue,
                                                      value));
        }
        const auto knobs = list.empty() ? 0 : builder.CreateVector(list);
        builder.Finish(current::CreateEngineConfig(builder, engine_id, knobs));
        return finish(builder, buffer, error);
    });
}

extern "C" enum kiln_status kiln_engine_details_write(const struct kiln_engine_details *details,
                                                      struct kiln_buffer *buffer,
                                                      struct kiln_error *error)
{
    return guard(error, [&] {
        Builder builder(256);
        flatbuffers::Offset<flatbuffers::String> name_text;
        flatbuffers::Offset<flatbuffers::Vector<int32_t>> note_list;
        flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<current::Knob>>> knob_list;
        if (details->name != nullptr)
            name_text = builder.CreateString(details->name);
        if (details->note_count != 0)
            note_list = builder.CreateVector<int32_t>(details->note_count, [details](size_t i) {
                return static_cast<int32_t>(details->notes[i]);
            });
        if (details->knob_count != 0) {
            std::vector<flatbuffers::Offset<current::Knob>> list;
            for (size_t i = 0; i < details->knob_count; i++)
                list.push_back(write_knob(builder, details->knobs[i]));
            knob_list = builder.CreateVector(list);
        }
        builder.Finish(current::CreateEngineDetails(builder, details->engine_id, knob_list,
                                                    note_list, name_text));
        return finish(builder, buffer, error);
    });
}

extern "C" bool kiln_engine_details_find_knob(const void *bytes, size_t size, const char *id,
                                              struct kiln_knob_description *ret_knob)
{
    bool is_found = false;
    struct kiln_error ignored;
    const enum kiln_status status = with_message<current::EngineDetails>(
        bytes, size, "EngineDetails", &ignored, [&](const current::EngineDetails &details) {
            const auto *knobs = details.knobs();
            for (uint32_t i = 0; knobs != nullptr && i < knobs->size() && !is_found; i++) {
                const current::Knob &knob = *knobs->Get(i);
                const auto *value = knob.default_value_as_IntValue();
                const auto *range = knob.constraint_as_IntConstraint();
                is_found = value != nullptr && range != nullptr && knob.knob_id() != nullptr &&
                           knob.knob_id()->str() == id;
                if (is_found)
                    *ret_knob = {
                        nullptr,       nullptr,       range->min_value(), range->max_value(),
                        range->step(), value->value()};
            }
        });
    return status == KILN_OK && is_found;
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
