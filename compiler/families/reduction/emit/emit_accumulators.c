#include "compiler/families/reduction/emit/emit_accumulators.h"

#include "compiler/emit/emit_access.h"

#include <inttypes.h>

bool kiln_accumulator_is_moments(const struct kiln_accumulator *accumulator)
{
    return accumulator->kind == KILN_ACCUMULATOR_MOMENTS;
}

bool kiln_accumulator_has_flag(const struct kiln_reduction_emission *reduction,
                               const struct kiln_accumulator *accumulator)
{
    return !kiln_reduction_is_columns(reduction->reduction) &&
           kiln_reduction_is_held(reduction->reduction) && accumulator->scalar == KILN_SCALAR_F32 &&
           (accumulator->kind == KILN_ACCUMULATOR_MIN || accumulator->kind == KILN_ACCUMULATOR_MAX);
}

bool kiln_emission_is_combine(const struct kiln_reduction_emission *reduction)
{
    return reduction->emission->group->role == KILN_ROLE_COMBINE;
}

bool kiln_lanes_have_counts(const struct kiln_reduction_emission *reduction)
{
    return !kiln_reduction_is_columns(reduction->reduction) &&
           (kiln_emission_is_combine(reduction) ||
            reduction->emission->schedule->walk.moved_elems != 0);
}

static const char *type_text(const struct kiln_accumulator *accumulator)
{
    return kiln_scalar_type(accumulator->scalar);
}

static const char *suffix(const struct kiln_accumulator *accumulator)
{
    return kiln_scalar_text(accumulator->scalar);
}

const char *kiln_accumulator_operation(const struct kiln_accumulator *accumulator)
{
    return kiln_accumulator_info(accumulator->kind)->operation;
}

const char *kiln_accumulator_neutral(const struct kiln_accumulator *accumulator)
{
    static const char *const lowest[KILN_SCALAR_COUNT] = {"false", "(-0x7fffffff - 1)",
                                                          "(-0x7fffffffffffffffll - 1)",
                                                          "-__builtin_inff()", "-__builtin_inf()"};
    static const char *const highest[KILN_SCALAR_COUNT] = {
        "true", "0x7fffffff", "0x7fffffffffffffffll", "__builtin_inff()", "__builtin_inf()"};
    switch (kiln_accumulator_info(accumulator->kind)->identity) {
    case KILN_IDENTITY_ONE:
        return "1";
    case KILN_IDENTITY_HIGHEST:
        return highest[accumulator->scalar];
    case KILN_IDENTITY_LOWEST:
        return lowest[accumulator->scalar];
    case KILN_IDENTITY_ZERO:
        break;
    }
    return "0";
}

/* Template argument: true if swapping a merge's operands can change the result's bits. An AMD GPU's
 * maximum of floats distinguishes +0 from -0 in hardware. */
static const char *is_ordered(const struct kiln_reduction_emission *reduction,
                              const struct kiln_accumulator *accumulator)
{
    bool is_float =
        accumulator->scalar == KILN_SCALAR_F32 || accumulator->scalar == KILN_SCALAR_F64;
    bool is_hardware_maximum = accumulator->kind == KILN_ACCUMULATOR_MAX &&
                               accumulator->scalar == KILN_SCALAR_F32 &&
                               reduction->emission->target->kind == KILN_TARGET_AMDGPU;
    switch (kiln_accumulator_info(accumulator->kind)->order) {
    case KILN_ORDER_ALWAYS:
        return reduction->sizes.checks_full ? "!is_full" : reduction->sizes.is_even ? "0" : "1";
    case KILN_ORDER_ZEROS:
        return is_float && !is_hardware_maximum ? "1" : "0";
    case KILN_ORDER_NEVER:
        break;
    }
    return "0";
}

/* Template argument: true if all work-items of a row have the same number of elements. */
static const char *evenness(const struct kiln_reduction_emission *reduction)
{
    return reduction->sizes.checks_full ? "is_full" : reduction->sizes.is_even ? "1" : "0";
}

static const char *template_head(const struct kiln_reduction_emission *reduction)
{
    return reduction->sizes.checks_full ? "template <bool is_full> " : "";
}

bool kiln_pass_has_accumulators(const struct kiln_reduction_emission *reduction, uint32_t pass)
{
    for (uint32_t i = 0; i < reduction->passes->accumulator_count; i++) {
        if (reduction->passes->accumulators[i].pass == pass)
            return true;
    }
    return false;
}

void kiln_emit_accumulator_types(const struct kiln_reduction_passes *passes,
                                 struct kiln_buffer *source)
{
    bool is_made[KILN_ACCUMULATOR_COUNT][KILN_SCALAR_COUNT] = {{false}};
    for (uint32_t i = 0; i < passes->accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &passes->accumulators[i];
        bool *made = &is_made[accumulator->kind][accumulator->scalar];
        if (!*made && kiln_accumulator_is_moments(accumulator))
            kiln_buffer_printf(source, "KILN_MOMENTS_ACCUMULATOR(%s, %s)\n", suffix(accumulator),
                               type_text(accumulator));
        else if (!*made)
            kiln_buffer_printf(source, "KILN_ACCUMULATOR(%s, %s, %s)\n",
                               kiln_accumulator_operation(accumulator), suffix(accumulator),
                               type_text(accumulator));
        *made = true;
    }
}

void kiln_emit_shared(const struct kiln_reduction_emission *reduction, struct kiln_buffer *source)
{
    kiln_emit_accumulator_types(reduction->passes, source);
    if (reduction->lds_entries == 0) {
        kiln_buffer_append_text(source, "struct kiln_shared {};\n");
        return;
    }
    kiln_buffer_append_text(source, "union kiln_shared {\n");
    for (uint32_t pass = 0; pass < reduction->passes->pass_count; pass++) {
        if (!kiln_pass_has_accumulators(reduction, pass))
            continue;
        kiln_buffer_append_text(source, "    struct {\n");
        KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
        {
            kiln_buffer_printf(
                source, "        kiln_%s_entries_%s<%" PRIu32 ", %" PRIu32 "> a%" PRIu32 ";\n",
                kiln_accumulator_operation(accumulator), suffix(accumulator), reduction->row_lanes,
                reduction->lds_entries, i);
        }
        kiln_buffer_printf(source, "    } p%" PRIu32 ";\n", pass);
    }
    kiln_buffer_append_text(source, "};\n");
}

/* "(float)" in front of what a work-item has of moments, where they are merged as floats. */
static const char *narrowing(const struct kiln_reduction_emission *reduction,
                             const struct kiln_accumulator *accumulator)
{
    return kiln_lanes_scalar(reduction->emission, accumulator) != accumulator->scalar ? "(float)"
                                                                                      : "";
}

/* What a work-item has of one accumulator. */
static void append_lanes(const struct kiln_reduction_emission *reduction,
                         const struct kiln_accumulator *accumulator, uint32_t index,
                         struct kiln_buffer *source)
{
    const char *type = kiln_scalar_type(kiln_lanes_scalar(reduction->emission, accumulator));
    uint32_t elements = reduction->vector;
    kiln_buffer_append_text(source, "        struct {\n");
    if (!kiln_accumulator_is_moments(accumulator)) {
        kiln_buffer_printf(source, "            %s value[%" PRIu32 "];\n", type, elements);
        if (kiln_accumulator_has_flag(reduction, accumulator))
            kiln_buffer_append_text(source, "            bool nan;\n");
    } else {
        if (kiln_lanes_have_counts(reduction))
            kiln_buffer_printf(source, "            %s count[%" PRIu32 "];\n", type, elements);
        else if (kiln_emission_is_combine(reduction))
            kiln_buffer_printf(source, "            %s count;\n", type);
        kiln_buffer_printf(source,
                           "            %s mean[%" PRIu32 "];\n"
                           "            %s squares[%" PRIu32 "];\n",
                           type, elements, type, elements);
    }
    kiln_buffer_printf(source, "        } a%" PRIu32 ";\n", index);
}

static void append_structures(const struct kiln_reduction_emission *reduction, uint32_t pass,
                              struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "    struct lanes {\n");
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    append_lanes(reduction, accumulator, i, source);
    kiln_buffer_append_text(source, "    };\n    struct merged {\n");
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    kiln_buffer_printf(source, "        kiln_%s_lanes_%s<%" PRIu32 "> a%" PRIu32 ";\n",
                       kiln_accumulator_operation(accumulator), suffix(accumulator),
                       reduction->row_lanes, i);
    kiln_buffer_append_text(source, "    };\n");
}

static void append_start(const struct kiln_reduction_emission *reduction, uint32_t pass,
                         struct kiln_buffer *source)
{
    kiln_buffer_append_text(source, "    KILN_DEVICE void start(lanes &lanes)\n    {\n"
                                    "        (void)lanes;\n");
    if (!kiln_pass_has_accumulators(reduction, pass)) {
        kiln_buffer_append_text(source, "    }\n");
        return;
    }
    kiln_emit_element_loop("        ", reduction->vector, source);
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        if (!kiln_accumulator_is_moments(accumulator)) {
            kiln_buffer_printf(source, "            lanes.a%" PRIu32 ".value[e] = %s;\n", i,
                               kiln_accumulator_neutral(accumulator));
            if (kiln_accumulator_has_flag(reduction, accumulator))
                kiln_buffer_printf(source, "            lanes.a%" PRIu32 ".nan = false;\n", i);
            continue;
        }
        if (kiln_lanes_have_counts(reduction) || kiln_emission_is_combine(reduction))
            kiln_buffer_printf(source, "            lanes.a%" PRIu32 ".count%s = 0;\n", i,
                               kiln_lanes_have_counts(reduction) ? "[e]" : "");
        kiln_buffer_printf(source,
                           "            lanes.a%" PRIu32 ".mean[e] = 0;\n"
                           "            lanes.a%" PRIu32 ".squares[e] = 0;\n",
                           i, i);
    }
    kiln_buffer_append_text(source, "        }\n    }\n");
}

/* One level of the tree over a vector: element e takes in element e + width. */
static void append_fold_level(const struct kiln_reduction_emission *reduction, uint32_t pass,
                              uint32_t width, struct kiln_buffer *source)
{
    kiln_emit_element_loop("        ", width, source);
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        const char *scalar = kiln_scalar_text(kiln_lanes_scalar(reduction->emission, accumulator));
        const char *type = kiln_scalar_type(kiln_lanes_scalar(reduction->emission, accumulator));
        if (!kiln_accumulator_is_moments(accumulator)) {
            kiln_buffer_printf(source,
                               "            lanes.a%" PRIu32
                               ".value[e] = kiln_%s%s_%s(lanes.a%" PRIu32
                               ".value[e], lanes.a%" PRIu32 ".value[e + %" PRIu32 "]);\n",
                               i, kiln_accumulator_operation(accumulator),
                               kiln_accumulator_has_flag(reduction, accumulator) ? "_number" : "",
                               scalar, i, i, width);
            continue;
        }
        if (kiln_lanes_have_counts(reduction)) {
            kiln_buffer_printf(
                source,
                "            const %s share%" PRIu32 " = kiln_moments_share_%s(lanes.a%" PRIu32
                ".count[e], lanes.a%" PRIu32 ".count[e + %" PRIu32 "]);\n"
                "            kiln_moments_merge_%s(lanes.a%" PRIu32 ".count[e], share%" PRIu32,
                type, i, scalar, i, i, width, scalar, i, i);
        } else {
            kiln_buffer_printf(
                source, "            kiln_moments_twin_%s((%s)steps * (%s)%" PRIu32 " * (%s)0.5",
                scalar, type, type, reduction->vector / (2 * width), type);
        }
        kiln_buffer_printf(source,
                           ", lanes.a%" PRIu32 ".mean[e + %" PRIu32 "], lanes.a%" PRIu32
                           ".squares[e + %" PRIu32 "], lanes.a%" PRIu32 ".mean[e], lanes.a%" PRIu32
                           ".squares[e]);\n",
                           i, width, i, width, i, i);
        if (kiln_lanes_have_counts(reduction))
            kiln_buffer_printf(source,
                               "            lanes.a%" PRIu32 ".count[e] += lanes.a%" PRIu32
                               ".count[e + %" PRIu32 "];\n",
                               i, i, width);
    }
    kiln_buffer_append_text(source, "        }\n");
}

/* gcc 12 loses elements where it vectorizes a sum of integers and the fold of its lanes together.
 */
static void append_hidden_lanes(const struct kiln_reduction_emission *reduction, uint32_t pass,
                                struct kiln_buffer *source)
{
    kiln_emit_element_loop("        ", reduction->vector, source);
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        if (accumulator->scalar < KILN_SCALAR_F32)
            kiln_buffer_printf(source, "            KILN_HIDE(lanes.a%" PRIu32 ".value[e]);\n", i);
    }
    kiln_buffer_append_text(source, "        }\n");
}

static void append_fold(const struct kiln_reduction_emission *reduction, uint32_t pass,
                        struct kiln_buffer *source)
{
    kiln_buffer_append_text(
        source, "    KILN_DEVICE void fold(lanes &lanes, unsigned steps, merged &merged)\n    {\n"
                "        (void)steps;\n");
    bool is_columns = kiln_reduction_is_columns(reduction->reduction);
    if (!is_columns && reduction->emission->target->kind == KILN_TARGET_HOST)
        append_hidden_lanes(reduction, pass, source);
    for (uint32_t width = reduction->vector / 2; !is_columns && width > 0; width /= 2)
        append_fold_level(reduction, pass, width, source);
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        if (!kiln_accumulator_is_moments(accumulator))
            continue;
        if (kiln_lanes_have_counts(reduction) || kiln_emission_is_combine(reduction))
            kiln_buffer_printf(
                source, "        merged.a%" PRIu32 ".count = %slanes.a%" PRIu32 ".count%s;\n", i,
                narrowing(reduction, accumulator), i, is_columns ? "" : "[0]");
        else
            kiln_buffer_printf(
                source, "        merged.a%" PRIu32 ".count = (%s)steps * (%s)%" PRIu32 ";\n", i,
                type_text(accumulator), type_text(accumulator), is_columns ? 1 : reduction->vector);
    }
    kiln_emit_element_loop("        ", reduction->row_lanes, source);
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    {
        const char *cast = narrowing(reduction, accumulator);
        if (kiln_accumulator_is_moments(accumulator))
            kiln_buffer_printf(
                source,
                "            merged.a%" PRIu32 ".mean[e] = %slanes.a%" PRIu32 ".mean[e];\n"
                "            merged.a%" PRIu32 ".squares[e] = %slanes.a%" PRIu32 ".squares[e];\n",
                i, cast, i, i, cast, i);
        else if (kiln_accumulator_has_flag(reduction, accumulator))
            kiln_buffer_printf(source,
                               "            merged.a%" PRIu32
                               ".value[e] = kiln_extreme_f32(lanes.a%" PRIu32
                               ".value[e], lanes.a%" PRIu32 ".nan);\n",
                               i, i, i);
        else
            kiln_buffer_printf(
                source, "            merged.a%" PRIu32 ".value[e] = lanes.a%" PRIu32 ".value[e];\n",
                i, i);
    }
    kiln_buffer_append_text(source, "        }\n    }\n");
}

/* What is done to each accumulator of `merged` by itself. */
static void append_merge(const struct kiln_reduction_emission *reduction, uint32_t pass,
                         struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "    %sKILN_DEVICE void merge(const merged &second, merged &first)\n    {\n",
                       template_head(reduction));
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    kiln_buffer_printf(source, "        kiln_merge<%s>(second.a%" PRIu32 ", first.a%" PRIu32 ");\n",
                       evenness(reduction), i, i);
    kiln_buffer_append_text(source, "    }\n");
}

static void append_shuffle(const struct kiln_reduction_emission *reduction, uint32_t pass,
                           struct kiln_buffer *source)
{
    kiln_buffer_printf(source,
                       "    %sKILN_DEVICE void shuffle(unsigned mask, merged &first)\n    {\n"
                       "        merged second;\n"
                       "        const bool is_second = (kiln_work_item() & mask) != 0;\n",
                       template_head(reduction));
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    kiln_buffer_printf(source,
                       "        kiln_exchange<%s, %s>(mask, is_second, first.a%" PRIu32
                       ", second.a%" PRIu32 ");\n",
                       is_ordered(reduction, accumulator), evenness(reduction), i, i);
    kiln_buffer_printf(source, "        merge%s(second, first);\n    }\n",
                       reduction->sizes.checks_full ? "<is_full>" : "");
}

static void append_transfers(const struct kiln_reduction_emission *reduction, uint32_t pass,
                             struct kiln_buffer *source)
{
    kiln_buffer_append_text(source,
                            "    KILN_DEVICE void put(const merged &merged, unsigned entry, "
                            "kiln_shared &shared)\n    {\n");
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    kiln_buffer_printf(
        source, "        kiln_put(merged.a%" PRIu32 ", entry, shared.p%" PRIu32 ".a%" PRIu32 ");\n",
        i, pass, i);
    kiln_buffer_append_text(source,
                            "    }\n    KILN_DEVICE void get(const kiln_shared &shared, unsigned "
                            "entry, merged &merged)\n    {\n");
    KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, pass)
    kiln_buffer_printf(
        source, "        kiln_get(shared.p%" PRIu32 ".a%" PRIu32 ", entry, merged.a%" PRIu32 ");\n",
        pass, i, i);
    kiln_buffer_append_text(source, "    }\n");
}

void kiln_emit_accumulators(const struct kiln_reduction_emission *reduction, uint32_t pass,
                            struct kiln_buffer *source)
{
    append_structures(reduction, pass, source);
    append_start(reduction, pass, source);
    if (!kiln_pass_has_accumulators(reduction, pass))
        return;
    append_fold(reduction, pass, source);
    append_merge(reduction, pass, source);
    append_shuffle(reduction, pass, source);
    if (reduction->lds_entries != 0)
        append_transfers(reduction, pass, source);
}

uint32_t kiln_component_access(const struct kiln_reduction_emission *reduction, uint32_t index,
                               uint32_t component)
{
    const struct kiln_fusion_group *group = reduction->emission->group;
    const struct kiln_accumulator *accumulator = &reduction->passes->accumulators[index];
    uint32_t value =
        accumulator->results[0] != KILN_NONE ? accumulator->results[0] : accumulator->results[1];
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        if (access->is_accumulator && access->value == value && access->component == component)
            return i;
    }
    return KILN_NONE;
}

void kiln_emit_merged_component(const struct kiln_accumulator *accumulator, uint32_t index,
                                uint32_t component, struct kiln_buffer *source)
{
    static const char *const moments[] = {".count", ".mean[e]", ".squares[e]"};
    kiln_buffer_printf(source, "merged.a%" PRIu32 "%s", index,
                       kiln_accumulator_is_moments(accumulator) ? moments[component] : ".value[e]");
}
