/* flatc's JSON of our schemas, both ways, by FlatBuffers' own parser with the schemas embedded;
 * numbers by json_text.cc, hipDNN's own JSON by hipdnn_json.cc. */
extern "C" {
#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"
}
#include "compiler/graph/graph_json.h"
#include "compiler/graph/hipdnn_json.hpp"
#include "compiler/graph/json_text.hpp"
#include "compiler/graph/wire_graph.h"

#include "hipdnn_schema_texts.h"

#include <flatbuffers/idl.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

namespace {

const char *schema_text(enum kiln_wire_era era)
{
    return era == KILN_WIRE_ERA_NOV2025 ? kiln_schema_nov2025 : kiln_schema_current;
}

/* Text that is read may have unquoted keys, comments and trailing commas. */
flatbuffers::IDLOptions parser_options()
{
    flatbuffers::IDLOptions options;
    options.allow_non_utf8 = true; /* names are anybody's bytes */
    options.lang_to_generate =
        flatbuffers::IDLOptions::kCpp; /* unions of structs need a language */
    return options;
}

/* The library's sentence may hold bytes of the text: one line, printable, the place as words. */
std::string printable(const std::string &message)
{
    constexpr size_t limit = 400;
    std::string text;
    int line = 0;
    int column = 0;
    int start = 0;
    if (std::sscanf(message.c_str(), " %d: %d: error: %n", &line, &column, &start) == 2 && start)
        text = "line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
    for (char c : message.substr(static_cast<size_t>(start))) {
        if (text.size() == limit)
            break;
        text.push_back(c >= 0x20 && c < 0x7f ? c : ' ');
    }
    return text;
}

bool parse(const std::string &json, enum kiln_wire_era era, struct kiln_buffer *buffer,
           std::string *ret_message)
{
    flatbuffers::Parser parser(parser_options());
    if (!parser.Parse(schema_text(era), nullptr, "") || !parser.ParseJson(json.c_str(), "")) {
        *ret_message = printable(parser.error_);
        return false;
    }
    kiln_buffer_append(buffer, parser.builder_.GetBufferPointer(), parser.builder_.GetSize());
    return true;
}

/* Which layout the author had in mind, for choosing between two complaints. */
bool names_old_fields(const std::string &json)
{
    for (const char *field : {"\"compute_type\"", "\"intermediate_type\"", "\"io_type\""}) {
        if (json.find(field) != std::string::npos)
            return true;
    }
    return false;
}

/* The reflection of the layout's schema, in the parser's memory. */
const reflection::Schema *schema_of(enum kiln_wire_era era, flatbuffers::Parser *parser)
{
    if (!parser->Parse(schema_text(era), nullptr, ""))
        return nullptr;
    parser->Serialize();
    return reflection::GetSchema(parser->builder_.GetBufferPointer());
}

enum kiln_status hipdnn_to_bytes(json_t *document, const enum kiln_wire_era *era,
                                 struct kiln_buffer *buffer, enum kiln_wire_era *ret_era,
                                 struct kiln_error *error)
{
    const enum kiln_wire_era taken = kiln::hipdnn_json_era(document);
    flatbuffers::Parser parser(parser_options());
    const reflection::Schema *schema = schema_of(taken, &parser);
    std::string text;
    std::string message;
    if (schema == nullptr || (era != nullptr && *era != taken))
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the fields of hipDNN's JSON are of the other layout");
    enum kiln_status status = kiln::hipdnn_json_to_flatc(*schema, document, &text, error);
    if (status == KILN_OK && !parse(text, taken, buffer, &message))
        status = kiln_error_set(error, KILN_BAD_ARGUMENT, "the text is no graph in JSON: %s",
                                message.c_str());
    if (status == KILN_OK)
        status = kiln_buffer_check(buffer, error);
    if (status == KILN_OK)
        *ret_era = taken;
    return status;
}

enum kiln_status to_bytes(const std::string &json, const enum kiln_wire_era *era,
                          struct kiln_buffer *buffer, enum kiln_wire_era *ret_era,
                          struct kiln_error *error)
{
    kiln::Json document;
    enum kiln_status status = kiln::read_hipdnn_json(json, &document, error);
    if (status != KILN_OK)
        return status;
    if (document != nullptr)
        return hipdnn_to_bytes(document.get(), era, buffer, ret_era, error);
    std::string message;
    std::string old_message;
    const enum kiln_wire_era first = era != nullptr ? *era : KILN_WIRE_ERA_CURRENT;
    enum kiln_wire_era taken = first;
    bool is_parsed = parse(json, first, buffer, &message);
    if (!is_parsed && era == nullptr) {
        taken = KILN_WIRE_ERA_NOV2025;
        is_parsed = parse(json, taken, buffer, &old_message);
        if (names_old_fields(json))
            message = old_message;
    }
    if (!is_parsed)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the text is no graph in JSON: %s",
                              message.c_str());
    status = kiln_buffer_check(buffer, error);
    if (status == KILN_OK)
        *ret_era = taken;
    return status;
}

enum kiln_status from_bytes(const void *bytes, size_t size, struct kiln_arena *arena,
                            struct kiln_buffer *buffer, struct kiln_error *error)
{
    if (size > KILN_MAX_GRAPH_BYTES)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the graph has more than 64 MiB");
    void *copy = kiln_arena_calloc(arena, size, 1);
    if (copy == nullptr)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while printing a graph");
    if (size != 0)
        std::memcpy(copy, bytes, size);
    enum kiln_wire_era era;
    enum kiln_status status = kiln_wire_graph_verify(copy, size, &era, error);
    if (status != KILN_OK)
        return status;
    flatbuffers::Parser parser(parser_options());
    std::string text;
    const reflection::Schema *schema = schema_of(era, &parser);
    if (schema == nullptr ||
        !kiln::append_json(*schema, *flatbuffers::GetRoot<flatbuffers::Table>(copy), &text))
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the graph holds something that has no JSON form");
    kiln_buffer_append(buffer, text.data(), text.size());
    return kiln_buffer_check(buffer, error);
}

} // namespace

extern "C" enum kiln_status kiln_graph_json_to_bytes(const char *text, size_t length,
                                                     const enum kiln_wire_era *era,
                                                     struct kiln_buffer *buffer,
                                                     enum kiln_wire_era *ret_era,
                                                     struct kiln_error *error)
{
    if (length > KILN_MAX_GRAPH_BYTES)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the text has more than 64 MiB");
    if (length == 0)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the text is no graph in JSON: it is empty");
    if (std::memchr(text, '\0', length) != nullptr)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the text is no graph in JSON: it holds a NUL");
    try {
        return to_bytes(std::string(text, length), era, buffer, ret_era, error);
    } catch (const std::bad_alloc &) {
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while parsing JSON");
    } catch (const std::exception &) {
        return kiln_error_set(error, KILN_INTERNAL, "the FlatBuffers parser threw an exception");
    }
}

extern "C" enum kiln_status kiln_graph_json_from_bytes(const void *bytes, size_t size,
                                                       struct kiln_buffer *buffer,
                                                       struct kiln_error *error)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    enum kiln_status status;
    try {
        status = from_bytes(bytes, size, &arena, buffer, error);
    } catch (const std::bad_alloc &) {
        status = kiln_error_set(error, KILN_NO_MEMORY, "out of memory while printing a graph");
    } catch (const std::exception &) {
        status = kiln_error_set(error, KILN_INTERNAL, "FlatBuffers threw an exception");
    }
    kiln_arena_fini(&arena);
    return status;
}
