#include "compiler/graph/json_text.hpp"

#include <flatbuffers/util.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

using reflection::BaseType;

struct Writer {
    const reflection::Schema &schema;
    std::string *text;
    bool is_known = true; /* every union's type so far */

    void line(int depth)
    {
        text->push_back('\n');
        text->append(static_cast<size_t>(2 * depth), ' ');
    }

    void append_real(double value, int digits)
    {
        char number[40];
        if (std::isfinite(value))
            std::snprintf(number, sizeof number, "%.*g", digits, value);
        else
            std::snprintf(number, sizeof number, "%s",
                          std::isnan(value) ? "nan"
                          : value < 0       ? "-inf"
                                            : "inf");
        text->append(number);
        /* A whole number is still one of a real type. */
        if (std::isfinite(value) && std::string(number).find_first_of(".e") == std::string::npos)
            text->append(".0");
    }

    /* By its name where the type is an enum that has one for it. */
    void append_integer(const reflection::Type &type, int64_t value)
    {
        const reflection::EnumVal *name = nullptr;
        if (type.index() >= 0)
            name = schema.enums()
                       ->Get(static_cast<flatbuffers::uoffset_t>(type.index()))
                       ->values()
                       ->LookupByKey(value);
        text->append(name != nullptr ? "\"" + name->name()->str() + "\"" : std::to_string(value));
    }

    void append_scalar(const reflection::Type &type, BaseType base, const uint8_t *at)
    {
        using flatbuffers::ReadScalar;
        switch (base) {
        case reflection::Bool:
            text->append(ReadScalar<uint8_t>(at) != 0 ? "true" : "false");
            return;
        case reflection::Float:
            append_real(static_cast<double>(ReadScalar<float>(at)), 9);
            return;
        case reflection::Double:
            append_real(ReadScalar<double>(at), 17);
            return;
        case reflection::Byte:
            append_integer(type, ReadScalar<int8_t>(at));
            return;
        case reflection::UType:
        case reflection::UByte:
            append_integer(type, ReadScalar<uint8_t>(at));
            return;
        case reflection::Short:
            append_integer(type, ReadScalar<int16_t>(at));
            return;
        case reflection::UShort:
            append_integer(type, ReadScalar<uint16_t>(at));
            return;
        case reflection::Int:
            append_integer(type, ReadScalar<int32_t>(at));
            return;
        case reflection::UInt:
            append_integer(type, ReadScalar<uint32_t>(at));
            return;
        case reflection::Long:
            append_integer(type, ReadScalar<int64_t>(at));
            return;
        default: /* ULong */
            text->append(std::to_string(ReadScalar<uint64_t>(at)));
            return;
        }
    }

    /* An array within a struct, on one line. */
    void append_scalars(const reflection::Type &type, const uint8_t *at, size_t count)
    {
        for (size_t i = 0; i < count; i++) {
            text->append(i == 0 ? "[" : ", ");
            append_scalar(type, type.element(), at + i * flatbuffers::GetTypeSize(type.element()));
        }
        text->push_back(']');
    }

    void append_string(const flatbuffers::String &string)
    {
        flatbuffers::EscapeString(string.c_str(), string.size(), text, true, false);
    }

    const reflection::Object &object_of(const reflection::Type &type) const
    {
        return *schema.objects()->Get(static_cast<flatbuffers::uoffset_t>(type.index()));
    }

    /* A table or struct that an offset or an element leads to. */
    void append_object(const reflection::Object &object, const uint8_t *at, int depth)
    {
        if (object.is_struct())
            append_struct(object, at, depth);
        else
            append_table(object, *reinterpret_cast<const flatbuffers::Table *>(at), depth);
    }

    void append_vector(const reflection::Type &type, const flatbuffers::VectorOfAny &vector,
                       int depth)
    {
        const BaseType element = type.element();
        const bool is_struct = element == reflection::Obj && object_of(type).is_struct();
        const size_t bytes = is_struct ? static_cast<size_t>(object_of(type).bytesize())
                             : element == reflection::Obj || element == reflection::String
                                 ? sizeof(flatbuffers::uoffset_t)
                                 : flatbuffers::GetTypeSize(element);
        text->push_back('[');
        for (size_t i = 0; i < vector.size(); i++) {
            const uint8_t *at = vector.Data() + i * bytes;
            text->append(i != 0 ? "," : "");
            line(depth + 1);
            if (!is_struct && (element == reflection::Obj || element == reflection::String))
                at += flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
            if (element == reflection::String)
                append_string(*reinterpret_cast<const flatbuffers::String *>(at));
            else if (element == reflection::Obj)
                append_object(object_of(type), at, depth + 1);
            else
                append_scalar(type, element, at);
        }
        line(depth);
        text->push_back(']');
    }

    /* The type of a union stands in the field before it. */
    void append_union(const reflection::Field &field, const flatbuffers::Table &table, int depth)
    {
        const auto type_offset =
            static_cast<flatbuffers::voffset_t>(field.offset() - sizeof(flatbuffers::voffset_t));
        const reflection::EnumVal *type =
            schema.enums()
                ->Get(static_cast<flatbuffers::uoffset_t>(field.type()->index()))
                ->values()
                ->LookupByKey(table.GetField<uint8_t>(type_offset, 0));
        if (type == nullptr || type->union_type()->base_type() != reflection::Obj)
            is_known = false;
        else
            append_object(object_of(*type->union_type()),
                          table.GetPointer<const uint8_t *>(field.offset()), depth);
    }

    void append_field(const reflection::Field &field, const flatbuffers::Table &table, int depth)
    {
        const reflection::Type &type = *field.type();
        const auto offset = static_cast<flatbuffers::voffset_t>(field.offset());
        switch (type.base_type()) {
        case reflection::String:
            append_string(*table.GetPointer<const flatbuffers::String *>(offset));
            break;
        case reflection::Vector:
            append_vector(type, *table.GetPointer<const flatbuffers::VectorOfAny *>(offset), depth);
            break;
        case reflection::Union:
            append_union(field, table, depth);
            break;
        case reflection::Obj:
            append_object(object_of(type),
                          object_of(type).is_struct() ? table.GetStruct<const uint8_t *>(offset)
                                                      : table.GetPointer<const uint8_t *>(offset),
                          depth);
            break;
        default:
            append_scalar(type, type.base_type(), table.GetAddressOf(offset));
            break;
        }
    }

    /* In the order of the schema. */
    static std::vector<const reflection::Field *> fields_of(const reflection::Object &object)
    {
        std::vector<const reflection::Field *> fields(object.fields()->begin(),
                                                      object.fields()->end());
        std::sort(fields.begin(), fields.end(),
                  [](const auto *a, const auto *b) { return a->id() < b->id(); });
        return fields;
    }

    void begin_field(const reflection::Field &field, bool is_first, int depth)
    {
        text->append(is_first ? "" : ",");
        line(depth + 1);
        text->append("\"" + field.name()->str() + "\": ");
    }

    void end_object(bool is_empty, int depth)
    {
        if (!is_empty)
            line(depth);
        text->push_back('}');
    }

    void append_struct(const reflection::Object &object, const uint8_t *at, int depth)
    {
        bool is_first = true;
        text->push_back('{');
        for (const reflection::Field *field : fields_of(object)) {
            const reflection::Type &type = *field->type();
            begin_field(*field, is_first, depth);
            is_first = false;
            if (type.base_type() == reflection::Obj)
                append_struct(object_of(type), at + field->offset(), depth + 1);
            else if (type.base_type() == reflection::Array)
                append_scalars(type, at + field->offset(), type.fixed_length());
            else
                append_scalar(type, type.base_type(), at + field->offset());
        }
        end_object(is_first, depth);
    }

    void append_table(const reflection::Object &object, const flatbuffers::Table &table, int depth)
    {
        bool is_first = true;
        text->push_back('{');
        for (const reflection::Field *field : fields_of(object)) {
            if (!table.CheckField(static_cast<flatbuffers::voffset_t>(field->offset())))
                continue;
            begin_field(*field, is_first, depth);
            is_first = false;
            append_field(*field, table, depth + 1);
        }
        end_object(is_first, depth);
    }
};

} // namespace

bool kiln::append_json(const reflection::Schema &schema, const flatbuffers::Table &root,
                       std::string *text)
{
    Writer writer{schema, text};
    writer.append_table(*schema.root_table(), root, 0);
    text->push_back('\n');
    return writer.is_known;
}
