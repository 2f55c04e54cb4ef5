#include "compiler/graph/node_attributes.h"

#include <inttypes.h>
#include <string.h>

static void put(struct kiln_record *record, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        record->bytes[record->size++] = (unsigned char)(value >> (8 * i));
}

void kiln_field_u8(struct kiln_fields *fields, uint32_t *value, uint32_t least, uint32_t end)
{
    if (fields->record != NULL) {
        put(fields->record, *value, 1);
        return;
    }
    const unsigned char *byte = kiln_reader_bytes(fields->reader, 1);
    bool is_valid = byte != NULL && *byte >= least && *byte < end;
    *value = is_valid ? *byte : least;
    fields->reader->failed = fields->reader->failed || !is_valid;
}

void kiln_field_bool(struct kiln_fields *fields, bool *value)
{
    uint32_t byte = *value;
    kiln_field_u8(fields, &byte, 0, 2);
    *value = byte != 0;
}

void kiln_field_u32(struct kiln_fields *fields, uint32_t *value)
{
    if (fields->record != NULL)
        put(fields->record, *value, 4);
    else
        *value = kiln_reader_u32(fields->reader);
}

static void field_u64(struct kiln_fields *fields, uint64_t *value)
{
    if (fields->record != NULL)
        put(fields->record, *value, 8);
    else
        *value = kiln_reader_u64(fields->reader);
}

void kiln_field_i64(struct kiln_fields *fields, int64_t *value)
{
    uint64_t bits = (uint64_t)*value;
    field_u64(fields, &bits);
    *value = (int64_t)bits;
}

void kiln_field_real(struct kiln_fields *fields, double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    field_u64(fields, &bits);
    memcpy(value, &bits, sizeof bits);
}

/* hipDNN's number, so that the form does not change when a table of Kiln grows. */
void kiln_field_dtype(struct kiln_fields *fields, enum kiln_dtype *value)
{
    if (fields->record != NULL) {
        put(fields->record, (uint64_t)kiln_dtype_info(*value)->wire, 1);
        return;
    }
    uint32_t number;
    kiln_field_u8(fields, &number, 0, UINT8_MAX + 1);
    *value = KILN_DTYPE_F32;
    if (!kiln_dtype_from_wire((int)number, value))
        fields->reader->failed = true;
}

void kiln_field_list(struct kiln_fields *fields, int64_t *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        kiln_field_i64(fields, &items[i]);
}

void kiln_print_list(struct kiln_buffer *buffer, const int64_t *items, uint32_t count)
{
    kiln_buffer_append_text(buffer, "[");
    for (uint32_t i = 0; i < count; i++)
        kiln_buffer_printf(buffer, "%s%" PRId64, i != 0 ? "," : "", items[i]);
    kiln_buffer_append_text(buffer, "]");
}

void kiln_print_axes(struct kiln_buffer *buffer, uint32_t axes)
{
    int64_t list[KILN_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < KILN_MAX_RANK; i++) {
        if ((axes >> i & 1) != 0)
            list[count++] = i;
    }
    kiln_buffer_append_text(buffer, " axes ");
    kiln_print_list(buffer, list, count);
}
