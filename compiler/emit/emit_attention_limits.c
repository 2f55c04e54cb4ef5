/* Limits: which columns of the scores a row sees, and which of them a tile of rows needs. */
#include "compiler/emit/emit_attention_parts.h"

#include "compiler/emit/emit_access.h"

#include <assert.h>
#include <inttypes.h>

/* A limit's value as text: numbers are arguments, named by their order. */
struct value_text {
    const struct kiln_emission *emission;
    struct kiln_buffer *source;
    bool is_of_row; /* lengths are in the registers of a row; otherwise they are loaded here */
    uint32_t limit;
    uint32_t number_count;
};

static bool is_added(const struct kiln_score_limit *limit)
{
    return limit->kind == KILN_LIMIT_LAST || limit->kind == KILN_LIMIT_FIRST;
}

/* The access that loads a length, which is the same in all of a batch; KILN_NONE is a fault of the
 * schedule. */
static uint32_t access_of_length(const struct kiln_emission *emission, uint32_t value)
{
    uint32_t found = KILN_NONE;
    for (uint32_t i = 0; i < emission->group->load_count; i++) {
        if (emission->group->accesses[i].value == value && kiln_is_score_row_access(emission, i))
            found = i;
    }
    return found;
}

static void append_length(const struct value_text *text, uint32_t value)
{
    const struct kiln_emission *emission = text->emission;
    uint32_t access = access_of_length(emission, value);
    assert(access != KILN_NONE);
    if (access == KILN_NONE) { /* without assertions: no text is better than that of another load */
        text->source->failed = true;
        return;
    }
    const struct kiln_access *memory = &emission->group->accesses[access];
    kiln_buffer_printf(text->source, "(long long)kiln_decode_%s(", kiln_storage_suffix(memory));
    if (text->is_of_row)
        kiln_buffer_printf(text->source, "row.x%" PRIu32 "[0])", access);
    else if (memory->kind == KILN_ARGUMENT_HOST_SCALAR)
        kiln_buffer_printf(text->source, "arguments.a%" PRIu32 ")", access);
    else
        kiln_buffer_printf(text->source, "*source.p%" PRIu32 ")", access);
}

static void append_value(struct value_text *text, uint32_t value)
{
    const struct kiln_op *op = &text->emission->ir->ops[value];
    const char *opening = "(", *separator = " + ";
    switch (op->opcode) {
    case KILN_OP_BROADCAST:
    case KILN_OP_CONVERT: /* changes nothing that counts: compiler/schedule/attention_limits.c */
        append_value(text, op->operands[0]);
        return;
    case KILN_OP_CONSTANT:
        kiln_buffer_printf(text->source, "arguments.limit%" PRIu32 "_%" PRIu32, text->limit,
                           text->number_count++);
        return;
    case KILN_OP_MIN:
        opening = "kiln_smaller(";
        separator = ", ";
        break;
    case KILN_OP_MAX:
        opening = "kiln_greater(";
        separator = ", ";
        break;
    case KILN_OP_SUB:
        separator = " - ";
        break;
    case KILN_OP_ADD:
        break;
    default:
        append_length(text, value);
        return;
    }
    kiln_buffer_append_text(text->source, opening);
    append_value(text, op->operands[0]);
    kiln_buffer_append_text(text->source, separator);
    append_value(text, op->operands[1]);
    kiln_buffer_append_text(text->source, ")");
}

/* The right side of a limit's comparison: its value, and its offset where it has one. */
static void append_limit(const struct kiln_emission *emission, uint32_t index, bool is_of_row,
                         struct kiln_buffer *source)
{
    const struct kiln_score_limit *limit = &kiln_attention_of(emission)->limits[index];
    struct value_text text = {
        .emission = emission, .source = source, .is_of_row = is_of_row, .limit = index};
    if (is_added(limit))
        kiln_buffer_printf(source, "arguments.limit%" PRIu32, index);
    if (is_added(limit) && limit->value != KILN_NONE)
        kiln_buffer_append_text(source, limit->is_subtracted ? " - " : " + ");
    if (limit->value != KILN_NONE)
        append_value(&text, limit->value);
}

static void visit_numbers(struct kiln_integer_walk *walk, uint32_t value, uint32_t limit,
                          uint32_t *count)
{
    const struct kiln_op *op = &walk->emission->ir->ops[value];
    if (op->opcode == KILN_OP_CONSTANT)
        kiln_visit_integer(walk, op->constant.integer, "limit%" PRIu32 "_%" PRIu32, limit,
                           (*count)++);
    for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++)
        visit_numbers(walk, op->operands[i], limit, count);
}

void kiln_visit_limit_arguments(struct kiln_integer_walk *walk)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(walk->emission);
    for (uint32_t i = 0; i < attention->limit_count; i++) {
        const struct kiln_score_limit *limit = &attention->limits[i];
        uint32_t count = 0;
        if (is_added(limit))
            kiln_visit_integer(walk, limit->offset, "limit%" PRIu32, i);
        if (limit->value != KILN_NONE)
            visit_numbers(walk, limit->value, i, &count);
    }
}

void kiln_emit_visibility(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    if (attention->limit_count == 0)
        return;
    kiln_buffer_append_text(source,
                            "KILN_DEVICE bool kiln_is_visible(const kiln_arguments &arguments, "
                            "const kiln_score_row &row, unsigned m, unsigned n)\n{\n"
                            "    (void)arguments, (void)row, (void)m, (void)n;\n    return true");
    for (uint32_t i = 0; i < attention->limit_count; i++) {
        const struct kiln_score_limit *limit = &attention->limits[i];
        kiln_buffer_append_text(source, " && ");
        if (is_added(limit)) /* of 32 bits, as the schedule has made sure */
            kiln_buffer_printf(source, "(int)n %s (int)m + (int)(",
                               limit->kind == KILN_LIMIT_LAST ? "<=" : ">=");
        else
            kiln_buffer_printf(source, "(long long)%s < (",
                               limit->kind == KILN_LIMIT_COLUMNS ? "n" : "m");
        append_limit(emission, i, true, source);
        kiln_buffer_append_text(source, ")");
    }
    kiln_buffer_append_text(source, ";\n}\n");
}

void kiln_emit_columns(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    static const char *const statements[] = {
        [KILN_LIMIT_LAST] = "    end = kiln_smaller(end, limit + end_row);\n"
                            "    whole_end = kiln_smaller(whole_end, limit + first_row + 1);\n",
        [KILN_LIMIT_FIRST] = "    first = kiln_greater(first, limit + first_row);\n"
                             "    whole_first = kiln_greater(whole_first, limit + end_row - 1);\n",
        [KILN_LIMIT_COLUMNS] = "    end = kiln_smaller(end, limit);\n"
                               "    whole_end = kiln_smaller(whole_end, limit);\n",
        [KILN_LIMIT_ROWS] = "    end = first_row < limit ? end : 0;\n"
                            "    whole_end = end_row <= limit ? whole_end : 0;\n",
    };
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    kiln_buffer_append_text(
        source,
        "struct kiln_column_range {\n    unsigned first, end;\n    unsigned whole_first, "
        "whole_end;\n};\n"
        "KILN_DEVICE void kiln_find_columns(const kiln_arguments &arguments, const kiln_batch "
        "&batch, unsigned first_row, unsigned end_row, kiln_column_range &range)\n{\n"
        "    (void)first_row, (void)end_row;\n    kiln_score_source source;\n");
    if (attention->are_rows_heads)
        kiln_buffer_append_text(source, "    first_row = 0, end_row = 1;\n");
    kiln_buffer_append_text(
        source,
        "    kiln_score_start(arguments, batch, 0, source);\n"
        "    long long first = 0, end = arguments.n, whole_first = 0, whole_end = end, limit = 0;\n"
        "    (void)limit;\n");
    for (uint32_t i = 0; i < attention->limit_count; i++) {
        kiln_buffer_append_text(source, "    limit = ");
        append_limit(emission, i, false, source);
        kiln_buffer_printf(source, ";\n%s", statements[attention->limits[i].kind]);
    }
    kiln_buffer_append_text(
        source, "    end = kiln_greater(end, 0);\n    range.end = (unsigned)end;\n"
                "    range.first = (unsigned)kiln_smaller(first, end);\n"
                "    range.whole_first = (unsigned)kiln_smaller(whole_first, arguments.n);\n"
                "    range.whole_end = (unsigned)kiln_greater(whole_end, 0);\n}\n");
}
