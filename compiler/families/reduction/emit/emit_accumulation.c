#include "compiler/families/reduction/emit/emit_accumulation.h"

#include "compiler/emit/emit_access.h"
#include "compiler/families/reduction/emit/emit_accumulators.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* "kiln_decode_f32(inputs.x3[e])": a component that COMBINE has loaded. */
static void append_loaded(const struct kiln_reduction_emission *reduction, uint32_t index,
                          uint32_t component, const char *element, struct kiln_buffer *source)
{
    uint32_t access = kiln_component_access(reduction, index, component);
    assert(access != KILN_NONE);
    kiln_buffer_printf(source, "kiln_decode_%s(inputs.x%" PRIu32 "[%s])",
                       kiln_storage_suffix(&reduction->emission->group->accesses[access]), access,
                       kiln_access_is_splat(reduction->emission, access) ? "0" : element);
}

/* True if the count that COMBINE merges into is one for all elements. */
static bool has_one_count(const struct kiln_reduction_emission *reduction, bool is_tail)
{
    return is_tail || kiln_reduction_is_columns(reduction->reduction);
}

/* The type of the accumulators that steps, or tails, are taken into. */
static enum kiln_scalar target_scalar(const struct kiln_reduction_emission *reduction,
                                      const struct kiln_accumulator *accumulator, bool is_tail)
{
    return is_tail ? accumulator->scalar : kiln_lanes_scalar(reduction->emission, accumulator);
}

/* "        const float share0 = ...;": the loaded set's part, and in count0 its size. */
static void append_loaded_share(const struct kiln_reduction_emission *reduction, uint32_t index,
                                bool is_tail, const char *indent, const char *element,
                                struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[index];
    enum kiln_scalar scalar = target_scalar(reduction, accumulator, is_tail);
    bool per_element = element[0] == 'e';
    kiln_buffer_printf(source, "%sconst %s count%" PRIu32 " = ", indent, kiln_scalar_type(scalar),
                       index);
    append_loaded(reduction, index, 0, element, source);
    kiln_buffer_printf(source,
                       ";\n%sconst %s share%" PRIu32 " = kiln_moments_share_%s(%s.a%" PRIu32
                       ".count%s, count%" PRIu32 ");\n",
                       indent, kiln_scalar_type(scalar), index, kiln_scalar_text(scalar),
                       is_tail ? "merged" : "lanes", index, per_element ? "[e]" : "", index);
}

void kiln_emit_accumulation_head(const struct kiln_reduction_emission *reduction, uint32_t pass,
                                 bool is_tail, struct kiln_buffer *source)
{
    bool has_reciprocal[KILN_SCALAR_COUNT] = {false};
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        const char *type = kiln_scalar_type(accumulator->scalar);
        enum kiln_scalar scalar = kiln_lanes_scalar(reduction->emission, accumulator);
        if (!kiln_accumulator_is_moments(accumulator))
            continue;
        if (kiln_emission_is_combine(reduction)) {
            if (has_one_count(reduction, is_tail))
                append_loaded_share(reduction, i, is_tail, "        ", "0", source);
        } else if (is_tail) {
            kiln_buffer_printf(source,
                               "        merged.a%" PRIu32 ".count += 1;\n"
                               "        const %s reciprocal%" PRIu32
                               " = kiln_count_ratio_%s(1, merged.a%" PRIu32 ".count);\n",
                               i, type, i, kiln_scalar_text(accumulator->scalar), i);
        } else if (!has_reciprocal[scalar]) {
            const char *text = kiln_scalar_text(scalar);
            type = kiln_scalar_type(scalar);
            kiln_buffer_printf(source,
                               "        const %s reciprocal_%s = kiln_count_ratio_%s(1, (%s)(nth + "
                               "1));\n",
                               type, text, text, type);
            has_reciprocal[scalar] = true;
        }
    }
}

/* A block that accumulates `operand`: the head declares it, up to the '=', and the tail is the
 * rest. The first elements of a vector that was moved back have been accumulated already. */
static void append_operand_head(const struct kiln_reduction_emission *reduction,
                                const struct kiln_accumulator *accumulator, bool is_tail,
                                struct kiln_buffer *source)
{
    uint32_t moved = is_tail ? 0 : reduction->emission->schedule->walk.moved_elems;
    kiln_buffer_printf(source, "            {\n            const %s operand = ",
                       kiln_scalar_type(accumulator->scalar));
    if (moved != 0)
        kiln_buffer_printf(source, "e < %" PRIu32 " && position.is_moved ? %s : ", moved,
                           kiln_accumulator_neutral(accumulator));
}

static void append_operand_tail(const struct kiln_reduction_emission *reduction, uint32_t index,
                                bool is_tail, struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[index];
    const char *target = is_tail ? "merged" : "lanes";
    bool has_flag = !is_tail && kiln_accumulator_has_flag(reduction, accumulator);
    kiln_buffer_append_text(source, ";\n");
    if (has_flag)
        kiln_buffer_printf(
            source, "            kiln_note_nan_f32(operand, lanes.a%" PRIu32 ".nan);\n", index);
    kiln_buffer_printf(source,
                       "            %s.a%" PRIu32 ".value[e] = kiln_%s%s_%s(%s.a%" PRIu32
                       ".value[e], operand);\n            }\n",
                       target, index, kiln_accumulator_operation(accumulator),
                       has_flag ? "_number" : "", kiln_scalar_text(accumulator->scalar), target,
                       index);
}

static void append_loaded_accumulation(const struct kiln_reduction_emission *reduction,
                                       uint32_t index, bool is_tail, struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[index];
    const char *target = is_tail ? "merged" : "lanes";
    if (!kiln_accumulator_is_moments(accumulator)) {
        append_operand_head(reduction, accumulator, is_tail, source);
        append_loaded(reduction, index, 0, "e", source);
        append_operand_tail(reduction, index, is_tail, source);
        return;
    }
    bool one_count = has_one_count(reduction, is_tail);
    if (!one_count)
        append_loaded_share(reduction, index, is_tail, "            ", "e", source);
    kiln_buffer_printf(
        source, "            kiln_moments_merge_%s(%s.a%" PRIu32 ".count%s, share%" PRIu32 ", ",
        kiln_scalar_text(target_scalar(reduction, accumulator, is_tail)), target, index,
        one_count ? "" : "[e]", index);
    append_loaded(reduction, index, 1, "e", source);
    kiln_buffer_append_text(source, ", ");
    append_loaded(reduction, index, 2, "e", source);
    kiln_buffer_printf(source, ", %s.a%" PRIu32 ".mean[e], %s.a%" PRIu32 ".squares[e]);\n", target,
                       index, target, index);
    if (!one_count)
        kiln_buffer_printf(source, "            %s.a%" PRIu32 ".count[e] += count%" PRIu32 ";\n",
                           target, index, index);
}

/* An element into moments, which are `mean` and `squares` where a vector may have been moved back:
 * its first elements change nothing. */
static void append_moments(const struct kiln_reduction_emission *reduction, uint32_t index,
                           bool is_tail, struct kiln_buffer *source)
{
    const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[index];
    enum kiln_scalar scalar = target_scalar(reduction, accumulator, is_tail);
    const char *type = kiln_scalar_type(scalar);
    uint32_t moved = is_tail ? 0 : reduction->emission->schedule->walk.moved_elems;
    char moments[32];
    (void)snprintf(moments, sizeof moments, "%s.a%" PRIu32, is_tail ? "merged" : "lanes", index);
    if (moved != 0)
        kiln_buffer_printf(source,
                           "            {\n"
                           "            %s mean = %s.mean[e], squares = %s.squares[e];\n",
                           type, moments, moments);
    kiln_buffer_printf(source, "            kiln_moments_update_%s(", kiln_scalar_text(scalar));
    kiln_emit_value(&reduction->values, accumulator->operand, source);
    if (is_tail)
        kiln_buffer_printf(source, ", reciprocal%" PRIu32, index);
    else
        kiln_buffer_printf(source, ", reciprocal_%s", kiln_scalar_text(scalar));
    if (moved == 0)
        kiln_buffer_printf(source, ", %s.mean[e], %s.squares[e]);\n", moments, moments);
    else
        kiln_buffer_printf(source,
                           ", mean, squares);\n"
                           "            const bool is_new = e >= %" PRIu32
                           " || !position.is_moved;\n"
                           "            %s.mean[e] = is_new ? mean : %s.mean[e];\n"
                           "            %s.squares[e] = is_new ? squares : %s.squares[e];\n"
                           "            %s.count[e] += is_new ? 1 : 0;\n            }\n",
                           moved, moments, moments, moments, moments, moments);
}

void kiln_emit_accumulation(const struct kiln_reduction_emission *reduction, uint32_t pass,
                            bool is_tail, struct kiln_buffer *source)
{
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        if (kiln_emission_is_combine(reduction)) {
            append_loaded_accumulation(reduction, i, is_tail, source);
            continue;
        }
        if (kiln_accumulator_is_moments(accumulator)) {
            append_moments(reduction, i, is_tail, source);
            continue;
        }
        append_operand_head(reduction, accumulator, is_tail, source);
        kiln_emit_value(&reduction->values, accumulator->operand, source);
        append_operand_tail(reduction, i, is_tail, source);
    }
}

void kiln_emit_accumulation_end(const struct kiln_reduction_emission *reduction, uint32_t pass,
                                bool is_tail, struct kiln_buffer *source)
{
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        if (kiln_accumulator_is_moments(accumulator) && kiln_emission_is_combine(reduction) &&
            has_one_count(reduction, is_tail))
            kiln_buffer_printf(source, "        %s.a%" PRIu32 ".count += count%" PRIu32 ";\n",
                               is_tail ? "merged" : "lanes", i, i);
    }
}
