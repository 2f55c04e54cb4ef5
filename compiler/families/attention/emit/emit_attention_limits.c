/* Facts about limits, which kernels_templates/device/attention/visible_columns.h follows. */
#include "compiler/families/attention/emit/emit_attention_parts.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/attention/fuse/attention_group.h"

#include <assert.h>
#include <inttypes.h>

/* A limit's value as text: numbers are arguments, named by their order, lengths parameters. */
struct value_text {
    const struct kiln_emission *emission;
    struct kiln_buffer *source;
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
    kiln_buffer_printf(text->source, "(long long)kiln_decode_%s(x%" PRIu32 ")",
                       kiln_storage_suffix(&emission->group->accesses[access]), access);
}

static void append_value(struct value_text *text, uint32_t value)
{
    const struct kiln_op *op = &text->emission->ir->ops[value];
    const char *opening = "(", *separator = " + ";
    switch (op->opcode) {
    case KILN_OP_BROADCAST:
    case KILN_OP_CONVERT: /* changes nothing that counts:
                             compiler/families/attention/schedule/attention_limits.c */
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
    for (uint32_t i = 0; i < attention->mask.count; i++) {
        const struct kiln_score_limit *limit = &attention->mask.limits[i];
        uint32_t count = 0;
        if (is_added(limit))
            kiln_visit_integer(walk, limit->offset, "limit%" PRIu32, i);
        if (limit->value != KILN_NONE)
            visit_numbers(walk, limit->value, i, &count);
    }
}

/* The function that computes the values of limits, from what is loaded for a row. */
static void append_values(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    static const enum kiln_place places[] = {KILN_PLACE_SCORE, KILN_PLACE_WEIGHT};
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    kiln_buffer_append_text(source, "KILN_DEVICE long long kiln_limit_value(const kiln_arguments "
                                    "&arguments, unsigned limit");
    for (uint32_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (uint32_t i = 0; i < emission->group->load_count; i++) {
            if (kiln_is_loaded_in(emission, i, places[p]) && kiln_is_score_row_access(emission, i))
                kiln_emit_score_parameter(emission, i, source);
        }
    }
    kiln_buffer_append_text(source, ")\n{\n    (void)arguments, (void)limit;\n");
    for (uint32_t i = 0; i < attention->mask.count; i++) {
        const struct kiln_score_limit *limit = &attention->mask.limits[i];
        struct value_text text = {.emission = emission, .source = source, .limit = i};
        if (limit->value == KILN_NONE)
            continue;
        kiln_buffer_printf(source, "    if (limit == %" PRIu32 ")\n        return %s(", i,
                           is_added(limit) && limit->is_subtracted ? "-" : "");
        append_value(&text, limit->value);
        kiln_buffer_append_text(source, ");\n");
    }
    kiln_buffer_append_text(source, "    return 0;\n}\n");
}

void kiln_emit_attention_limits(const struct kiln_emission *emission, struct kiln_buffer *source)
{
    static const char *const kinds[] = {
        [KILN_LIMIT_LAST] = "LAST",
        [KILN_LIMIT_FIRST] = "FIRST",
        [KILN_LIMIT_COLUMNS] = "COLUMNS",
        [KILN_LIMIT_ROWS] = "ROWS",
    };
    const struct kiln_attention_schedule *attention = kiln_attention_of(emission);
    if (attention->mask.count == 0)
        return;
    kiln_buffer_append_text(source, "KILN_FACT kiln_limit kiln_limits[] = {");
    for (uint32_t i = 0; i < attention->mask.count; i++) {
        const struct kiln_score_limit *limit = &attention->mask.limits[i];
        kiln_buffer_printf(source, "%s{KILN_LIMIT_%s, ", i == 0 ? "" : ", ", kinds[limit->kind]);
        if (is_added(limit))
            kiln_buffer_printf(source, "KILN_ARGUMENT(limit%" PRIu32 ")}", i);
        else
            kiln_buffer_append_text(source, "KILN_CONSTANT(0)}");
    }
    kiln_buffer_append_text(source, "};\n#define KILN_LIMITS(use)");
    for (uint32_t i = 0; i < attention->mask.count; i++)
        kiln_buffer_printf(source, " use(%" PRIu32 ")", i);
    kiln_buffer_printf(source, "\n#define KILN_ARE_ROWS_HEADS %d\n",
                       attention->rows == KILN_SCORE_ROWS_HEADS);
    append_values(emission, source);
}
