#include "runtime/engine/plan_knobs.h"

#include <inttypes.h>
#include <string.h>

enum applies { APPLIES_ALL, APPLIES_PRODUCTS, APPLIES_SPLITS };

static const struct {
    struct kiln_knob_description description;
    enum applies applies;
} rows[] = {
#define KILN_KNOB(name, id, least, most, step, none, applies, text)                                \
    [KILN_KNOB_##name] = {{id, text, least, most, step, none}, APPLIES_##applies},
#include "runtime/engine/knob.def"
};

static const int64_t tile_sizes[] = {0, 32, 64, 128, 256};

void kiln_plan_knobs_init(struct kiln_plan_knobs *knobs)
{
    for (int i = 0; i < KILN_KNOB_COUNT; i++)
        knobs->values[i] = rows[i].description.none;
}

bool kiln_plan_knobs_are_default(const struct kiln_plan_knobs *knobs)
{
    bool are_default = true;
    for (int i = 0; i < KILN_KNOB_COUNT; i++)
        are_default &= knobs->values[i] == rows[i].description.none ||
                       i == KILN_KNOB_DETERMINISTIC || i == KILN_KNOB_BENCHMARKING;
    return are_default;
}

unsigned kiln_plan_knobs_work(const struct kiln_graph *graph)
{
    unsigned work = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        switch (graph->nodes[i].kind) {
        case KILN_NODE_MATMUL:
        case KILN_NODE_CONVOLUTION_FORWARD:
        case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
        case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
            work |= KILN_WORK_PRODUCTS;
            break;
        case KILN_NODE_ATTENTION:
            work |= KILN_WORK_ATTENTION;
            break;
        default:
            break;
        }
    }
    return work;
}

static bool does_apply(enum applies applies, unsigned work)
{
    return applies == APPLIES_ALL ||
           (work & (applies == APPLIES_PRODUCTS ? KILN_WORK_PRODUCTS
                                                : KILN_WORK_PRODUCTS | KILN_WORK_ATTENTION)) != 0;
}

size_t kiln_plan_knobs_describe(unsigned work,
                                struct kiln_knob_description ret_knobs[KILN_KNOB_COUNT])
{
    size_t count = 0;
    for (int i = 0; i < KILN_KNOB_COUNT; i++)
        if (does_apply(rows[i].applies, work))
            ret_knobs[count++] = rows[i].description;
    return count;
}

static bool has_value(enum kiln_knob knob, int64_t value)
{
    const struct kiln_knob_description *row = &rows[knob].description;
    if (value < row->least || value > row->most)
        return false;
    bool is_listed = knob != KILN_KNOB_TILE_SIZE;
    for (size_t i = 0; i < sizeof tile_sizes / sizeof *tile_sizes; i++)
        is_listed |= value == tile_sizes[i];
    return is_listed;
}

static enum kiln_status set_knob(const struct kiln_knob_setting *setting,
                                 struct kiln_plan_knobs *knobs, bool is_set[KILN_KNOB_COUNT],
                                 struct kiln_error *error)
{
    int knob = 0;
    while (knob < KILN_KNOB_COUNT && strcmp(setting->id, rows[knob].description.id) != 0)
        knob++;
    if (knob == KILN_KNOB_COUNT)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "this engine has no knob '%s'",
                              setting->id);
    if (!setting->is_integer)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the knob '%s' takes an integer, not another type", setting->id);
    if (is_set[knob])
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "the knob '%s' is set twice", setting->id);
    if (!has_value((enum kiln_knob)knob, setting->value))
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "the knob '%s' cannot be %" PRId64 "; it takes %" PRId64
                              " to %" PRId64 ": %s",
                              setting->id, setting->value, rows[knob].description.least,
                              rows[knob].description.most, rows[knob].description.text);
    is_set[knob] = true;
    knobs->values[knob] = setting->value;
    return KILN_OK;
}

enum kiln_status kiln_plan_knobs_set(const struct kiln_knob_setting *settings, size_t count,
                                     struct kiln_plan_knobs *knobs, struct kiln_error *error)
{
    struct kiln_plan_knobs set = *knobs;
    bool is_set[KILN_KNOB_COUNT] = {false};
    for (size_t i = 0; i < count; i++) {
        enum kiln_status status = set_knob(&settings[i], &set, is_set, error);
        if (status)
            return status;
    }
    *knobs = set;
    return KILN_OK;
}

void kiln_plan_knobs_apply(const struct kiln_plan_knobs *knobs, struct kiln_lower_options *options)
{
    static const enum kiln_contraction_form forms[] = {
        KILN_CONTRACTION_ANY, KILN_CONTRACTION_STREAMED, KILN_CONTRACTION_PLAIN,
        KILN_CONTRACTION_SPECIALIZED};
    const int64_t *values = knobs->values;
    struct kiln_contraction_options *contraction = &options->contraction;
    if (values[KILN_KNOB_TILE_SIZE] != 0)
        contraction->tile_m = contraction->tile_n = (uint32_t)values[KILN_KNOB_TILE_SIZE];
    if (values[KILN_KNOB_SPLIT_K] != 0)
        contraction->segments = (uint32_t)values[KILN_KNOB_SPLIT_K];
    if (values[KILN_KNOB_STAGES] != 0)
        contraction->form = forms[values[KILN_KNOB_STAGES]];
}
