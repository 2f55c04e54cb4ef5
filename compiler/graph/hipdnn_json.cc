extern "C" {
#include "compiler/graph/graph_reader.h"
#include "runtime/support/error.h"
}
#include "compiler/graph/hipdnn_json.hpp"

#include <strings.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace {

using reflection::BaseType;

const char *kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction or an exponent";
    case JSON_NULL:
        return "null";
    default:
        return "a boolean";
    }
}

bool has_range(BaseType type, json_int_t value)
{
    switch (type) {
    case reflection::UType:
    case reflection::UByte:
        return value >= 0 && value <= std::numeric_limits<uint8_t>::max();
    case reflection::Int:
        return value >= std::numeric_limits<int32_t>::min() &&
               value <= std::numeric_limits<int32_t>::max();
    case reflection::UInt:
        return value >= 0 && value <= std::numeric_limits<uint32_t>::max();
    default:
        return true;
    }
}

/* Each function returns an owned value of flatc's form, or NULL after setting the error. */
class Translator {
  public:
    Translator(const reflection::Schema &schema_in, struct kiln_error *error_in)
        : schema(schema_in), error(error_in)
    {
    }

    json_t *graph(json_t *document)
    {
        const reflection::Object &table = *schema.root_table();
        kiln::Json object(json_object());
        const char *name;
        json_t *value;
        json_object_foreach(document, name, value)
        {
            const Step step(this, name);
            if (std::strcmp(name, "tensors") == 0) {
                if (!put(object.get(), name, array(value, &Translator::tensor)))
                    return nullptr;
            } else if (std::strcmp(name, "nodes") == 0) {
                if (!put(object.get(), name, array(value, &Translator::node)))
                    return nullptr;
            } else if (!put_field(object.get(), table, name, value)) {
                return nullptr;
            }
        }
        return object.release();
    }

  private:
    const reflection::Schema &schema;
    struct kiln_error *error;
    std::string path;

    /* A step down in the document, for sentences. */
    struct Step {
        Step(Translator *translator_in, const char *name)
            : translator(translator_in), length(translator_in->path.size())
        {
            if (length != 0)
                translator->path += '.';
            for (const char *at = name; *at != '\0' && translator->path.size() < 200; at++)
                translator->path += *at >= 0x20 && *at < 0x7f ? *at : '?';
        }
        Step(Translator *translator_in, size_t index)
            : translator(translator_in), length(translator_in->path.size())
        {
            translator->path += "[" + std::to_string(index) + "]";
        }
        ~Step()
        {
            translator->path.resize(length);
        }
        Step(const Step &) = delete;
        Step &operator=(const Step &) = delete;
        Translator *translator;
        size_t length;
    };

    json_t *fail(const char *sentence)
    {
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "hipDNN's JSON of the graph: '%s' %s",
                             path.c_str(), sentence);
        return nullptr;
    }

    json_t *fail_kind(const json_t *value, const char *expected)
    {
        return fail((std::string("is ") + kind_of(value) + " and not " + expected).c_str());
    }

    json_t *reject(enum kiln_reject_reason reason, const char *what, const char *name)
    {
        (void)kiln_error_set(error, KILN_REJECTED, "hipDNN's JSON of the graph: '%s' is %s '%.60s'",
                             path.c_str(), what, name);
        error->reject_reason = reason;
        return nullptr;
    }

    /* Takes the value; false when there is none. */
    bool put(json_t *object, const char *name, json_t *value)
    {
        if (value != nullptr && json_object_set_new(object, name, value) != 0)
            throw std::bad_alloc();
        return value != nullptr;
    }

    const reflection::Field *field_of(const reflection::Object &table, const char *name)
    {
        return table.fields()->LookupByKey(name);
    }

    /* Null is an absent field. */
    bool put_field(json_t *object, const reflection::Object &table, const char *name, json_t *value)
    {
        if (json_is_null(value))
            return true;
        const reflection::Field *field = field_of(table, name);
        if (field == nullptr) {
            const std::string &full = table.name()->str();
            (void)fail(("is no field of " + full.substr(full.rfind('.') + 1) + " that Kiln knows")
                           .c_str());
            return false;
        }
        return put(object, name, field_value(*field, value));
    }

    const reflection::Object &object_of(const reflection::Type &type) const
    {
        return *schema.objects()->Get(static_cast<flatbuffers::uoffset_t>(type.index()));
    }

    json_t *field_value(const reflection::Field &field, json_t *value)
    {
        const reflection::Type &type = *field.type();
        switch (type.base_type()) {
        case reflection::String:
            return json_is_string(value) ? json_incref(value) : fail_kind(value, "a string");
        case reflection::Vector: {
            if (!json_is_array(value))
                return fail_kind(value, "an array");
            kiln::Json list(json_array());
            for (size_t i = 0; i < json_array_size(value); i++) {
                const Step step(this, i);
                json_t *element = scalar(type, type.element(), json_array_get(value, i));
                if (element == nullptr)
                    return nullptr;
                if (json_array_append_new(list.get(), element) != 0)
                    throw std::bad_alloc();
            }
            return list.release();
        }
        case reflection::Obj:
            return json_is_string(value) ? uuid(json_string_value(value))
                                         : structure(object_of(type), value);
        default:
            return scalar(type, type.base_type(), value);
        }
    }

    json_t *structure(const reflection::Object &object, json_t *value)
    {
        if (!json_is_object(value))
            return fail_kind(value, "an object");
        kiln::Json result(json_object());
        const char *name;
        json_t *member;
        json_object_foreach(value, name, member)
        {
            const Step step(this, name);
            if (!put_field(result.get(), object, name, member))
                return nullptr;
        }
        return result.release();
    }

    /* "01234567-89ab-cdef-0123-456789abcdef" */
    json_t *uuid(const char *text)
    {
        enum { BYTES = 16 };
        kiln::Json bytes(json_array());
        for (const char *at = text; *at != '\0'; at += 2) {
            at += *at == '-';
            char *end;
            const char digits[3] = {at[0], at[0] != '\0' ? at[1] : '\0', '\0'};
            const unsigned long byte = std::strtoul(digits, &end, 16);
            if (end != digits + 2 ||
                json_array_append_new(bytes.get(), json_integer(static_cast<json_int_t>(byte))) !=
                    0)
                return fail("is no UUID");
        }
        if (json_array_size(bytes.get()) != BYTES)
            return fail("is no UUID");
        kiln::Json result(json_object());
        if (!put(result.get(), "bytes", bytes.release()))
            return nullptr;
        return result.release();
    }

    json_t *scalar(const reflection::Type &type, BaseType base, json_t *value)
    {
        if (type.index() >= 0 && json_is_string(value))
            return enumerator(type, json_string_value(value));
        switch (base) {
        case reflection::Bool:
            return json_is_boolean(value) ? json_incref(value) : fail_kind(value, "a boolean");
        case reflection::Float:
        case reflection::Double:
            return json_is_number(value) ? json_incref(value) : fail_kind(value, "a number");
        default:
            if (!json_is_integer(value))
                return fail_kind(value, type.index() >= 0 ? "a name or a number" : "an integer");
            if (!has_range(base, json_integer_value(value)))
                return fail("is out of range");
            return json_incref(value);
        }
    }

    const reflection::Enum &enum_of(const reflection::Type &type) const
    {
        return *schema.enums()->Get(static_cast<flatbuffers::uoffset_t>(type.index()));
    }

    /* Names in any case; hipDNN has several for the value that is not set. */
    json_t *enumerator(const reflection::Type &type, const char *name)
    {
        for (const reflection::EnumVal *known : *enum_of(type).values())
            if (strcasecmp(known->name()->c_str(), name) == 0)
                return json_integer(known->value());
        for (const char *unset : {"unset", "not_set", "padding_not_set"})
            if (strcasecmp(unset, name) == 0)
                return json_integer(0);
        const bool is_type = std::strstr(enum_of(type).name()->c_str(), "DataType") != nullptr;
        return reject(is_type ? KILN_REJECT_UNKNOWN_TYPE : KILN_REJECT_UNKNOWN_MODE,
                      "a name that Kiln does not know:", name);
    }

    /* The member of a union with this name or number. NULL without an error: there is none. */
    const reflection::EnumVal *member_of(const reflection::Type &type, const json_t *kind)
    {
        for (const reflection::EnumVal *known : *enum_of(type).values())
            if (json_is_integer(kind)
                    ? json_integer_value(kind) == known->value()
                    : std::strcmp(known->name()->c_str(), json_string_value(kind)) == 0)
                return known;
        return nullptr;
    }

    json_t *array(json_t *value, json_t *(Translator::*element)(json_t *))
    {
        if (!json_is_array(value))
            return fail_kind(value, "an array");
        kiln::Json list(json_array());
        for (size_t i = 0; i < json_array_size(value); i++) {
            const Step step(this, i);
            json_t *from = json_array_get(value, i);
            json_t *to =
                json_is_object(from) ? (this->*element)(from) : fail_kind(from, "an object");
            if (to == nullptr)
                return nullptr;
            if (json_array_append_new(list.get(), to) != 0)
                throw std::bad_alloc();
        }
        return list.release();
    }

    /* The table that the elements of a field of the root are. */
    const reflection::Object &element_table(const char *field)
    {
        return object_of(*field_of(*schema.root_table(), field)->type());
    }

    json_t *tensor(json_t *from)
    {
        const reflection::Object &table = element_table("tensors");
        kiln::Json to(json_object());
        const char *name;
        json_t *value;
        json_object_foreach(from, name, value)
        {
            const Step step(this, name);
            const bool is_value = std::strcmp(name, "value") == 0;
            if (std::strcmp(name, "value_type") == 0)
                continue;
            if (is_value ? !put_constant(to.get(), table, from, value)
                         : !put_field(to.get(), table, name, value))
                return nullptr;
        }
        return to.release();
    }

    bool put_constant(json_t *to, const reflection::Object &table, const json_t *from,
                      json_t *value)
    {
        const json_t *kind = json_object_get(from, "value_type");
        if (json_is_null(value) && (kind == nullptr || json_is_null(kind)))
            return true;
        if (json_is_null(value)) /* hipDNN's JSON library writes them so */
            return fail("is null: an infinity or a NaN that the JSON does not hold") != nullptr;
        if (!json_is_string(kind) && !json_is_integer(kind))
            return fail("has no 'value_type'") != nullptr;
        const reflection::EnumVal *member = member_of(*field_of(table, "value")->type(), kind);
        if (member == nullptr || member->union_type()->base_type() != reflection::Obj)
            return reject(KILN_REJECT_VALUE, "a constant of an unknown type",
                          json_is_string(kind) ? json_string_value(kind) : "") != nullptr;
        kiln::Json constant(json_object());
        json_t *bare = json_is_object(value) ? json_object_get(value, "value") : value;
        return bare != nullptr &&
               put_field(constant.get(), object_of(*member->union_type()), "value", bare) &&
               put(to, "value_type", json_string(member->name()->c_str())) &&
               put(to, "value", constant.release());
    }

    json_t *node(json_t *from)
    {
        const reflection::Object &table = element_table("nodes");
        json_t *kind = json_object_get(from, "type");
        kiln::Json to(json_object());
        kiln::Json attributes(json_object());
        if (!json_is_string(kind) && !json_is_integer(kind))
            return fail("has no 'type'");
        const reflection::EnumVal *member = member_of(*field_of(table, "attributes")->type(), kind);
        if (member == nullptr || member->union_type()->base_type() != reflection::Obj)
            return reject(KILN_REJECT_UNKNOWN_NODE, "a node of an unknown kind",
                          json_is_string(kind) ? json_string_value(kind) : "");
        const reflection::Object &fields = object_of(*member->union_type());
        const char *name;
        json_t *value;
        json_object_foreach(from, name, value)
        {
            const Step step(this, name);
            if (std::strcmp(name, "type") == 0)
                continue;
            if (is_group(name) && json_is_object(value)) {
                if (!put_group(attributes.get(), fields, value))
                    return nullptr;
            } else if (std::strcmp(name, "name") == 0 ||
                       std::strcmp(name, "compute_data_type") == 0) {
                if (!put_field(to.get(), table, name, value))
                    return nullptr;
            } else if (!put_field(attributes.get(), fields, name, value)) {
                return nullptr;
            }
        }
        put(to.get(), "attributes_type", json_string(member->name()->c_str()));
        put(to.get(), "attributes", attributes.release());
        return to.release();
    }

    static bool is_group(const char *name)
    {
        for (const char *group : {"inputs", "outputs", "parameters", "attributes"})
            if (std::strcmp(name, group) == 0)
                return true;
        return false;
    }

    bool put_group(json_t *attributes, const reflection::Object &fields, json_t *group)
    {
        const char *name;
        json_t *value;
        json_object_foreach(group, name, value)
        {
            const Step step(this, name);
            if (!put_field(attributes, fields, name, value))
                return false;
        }
        return true;
    }
};

bool has_typed_node(const json_t *document)
{
    const json_t *nodes = json_object_get(document, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (json_object_get(json_array_get(nodes, i), "type") != nullptr)
            return true;
    return false;
}

} // namespace

enum kiln_status kiln::read_hipdnn_json(const std::string &text, Json *ret_document,
                                        struct kiln_error *error)
{
    /* Flatc's form has no field of that name. */
    if (text.find("\"type\"") == std::string::npos)
        return KILN_OK;
    json_error_t failure;
    Json document(json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES, &failure));
    if (document != nullptr) {
        if (has_typed_node(document.get()))
            *ret_document = std::move(document);
        return KILN_OK;
    }
    if (text.find("attributes_type") != std::string::npos)
        return KILN_OK;
    return kiln_error_set(error, KILN_BAD_ARGUMENT,
                          "the text is no graph in JSON: line %d, column %d: %s", failure.line,
                          failure.column, failure.text);
}

enum kiln_wire_era kiln::hipdnn_json_era(const json_t *document)
{
    for (const char *old : {"compute_type", "intermediate_type", "io_type"})
        if (json_object_get(document, old) != nullptr)
            return KILN_WIRE_ERA_NOV2025;
    return KILN_WIRE_ERA_CURRENT;
}

enum kiln_status kiln::hipdnn_json_to_flatc(const reflection::Schema &schema, json_t *document,
                                            std::string *text, struct kiln_error *error)
{
    const Json translated(Translator(schema, error).graph(document));
    if (translated == nullptr)
        return error->status;
    char *dump = json_dumps(translated.get(), JSON_COMPACT);
    if (dump == nullptr)
        throw std::bad_alloc();
    const std::unique_ptr<char, decltype(&std::free)> owner(dump, &std::free);
    text->append(dump);
    return KILN_OK;
}
