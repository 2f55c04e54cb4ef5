/* Checks of contractions: roles of axes here, what each map says in map_validate.c. */
#include "compiler/ir/contraction.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct checker {
    const struct kiln_contraction *contraction;
    const struct kiln_contraction_setting *setting;
    struct kiln_buffer *faults;
    uint32_t fault_count;
};

static void fault(struct checker *checker, const char *format, ...) KILN_PRINTF(2, 3);

static void fault(struct checker *checker, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    checker->fault_count++;
    kiln_buffer_printf(checker->faults, "%s: %s\n", checker->setting->names[KILN_CONTRACT_RESULT],
                       text);
}

/* True if an axis is in those of left, right and result that its role says. */
static bool is_of_its_role(const struct kiln_contraction_axis *axis)
{
    bool left = axis->of[KILN_CONTRACT_LEFT].along != KILN_NO_AXIS;
    bool right = axis->of[KILN_CONTRACT_RIGHT].along != KILN_NO_AXIS;
    bool result = axis->of[KILN_CONTRACT_RESULT].along != KILN_NO_AXIS;
    bool repeats = axis->of[KILN_CONTRACT_LEFT].repeat.value != 1 ||
                   axis->of[KILN_CONTRACT_RIGHT].repeat.value != 1;
    switch (axis->role) {
    case KILN_AXIS_BATCH:
        return result;
    case KILN_AXIS_M:
        return left && !right && result && !repeats;
    case KILN_AXIS_N:
        return !left && right && result && !repeats;
    case KILN_AXIS_K:
        return left && right && !result && !repeats;
    case KILN_AXIS_GROUP:
        return !left && right && !result && !repeats;
    case KILN_AXIS_ROLE_COUNT:
        break;
    }
    return false;
}

/* True if a batch counts groups of what columns of the result are: a kernel may count it with them.
 */
static bool shares_columns(const struct kiln_contraction *contraction, uint32_t batch)
{
    const struct kiln_map_axis *result = contraction->maps[KILN_CONTRACT_RESULT].axes;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_N && result[i].along == result[batch].along &&
            result[batch].along != KILN_NO_AXIS)
            return true;
    }
    return false;
}

/* Kernels have places for so many axes of a role. */
static void check_role_counts(struct checker *checker)
{
    static const char *const names[KILN_AXIS_ROLE_COUNT] = {"batches", "rows", "columns", "k",
                                                            "groups"};
    const struct kiln_contraction *contraction = checker->contraction;
    uint32_t counts[KILN_AXIS_ROLE_COUNT] = {0};
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        counts[contraction->roles[i]]++;
        if (contraction->roles[i] == KILN_AXIS_BATCH && shares_columns(contraction, i))
            counts[KILN_AXIS_N]++;
    }
    for (uint32_t role = 0; role < KILN_AXIS_ROLE_COUNT; role++) {
        uint32_t most = role == KILN_AXIS_BATCH   ? KILN_CONTRACTION_MAX_BATCH_AXES
                        : role == KILN_AXIS_GROUP ? 1
                                                  : KILN_CONTRACTION_MAX_ROLE_AXES;
        if (counts[role] > most)
            fault(checker, "%" PRIu32 " axes of %s are more than %" PRIu32, counts[role],
                  names[role], most);
    }
}

/* Kernels of groups have one axis of what is divided, and no windows. */
static void check_routing(struct checker *checker)
{
    const struct kiln_contraction *contraction = checker->contraction;
    uint32_t counts[KILN_AXIS_ROLE_COUNT] = {0};
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        counts[contraction->roles[i]]++;
    bool has_rows = kiln_routing_has_rows(contraction->routing);
    bool has_sums = contraction->routing == KILN_ROUTING_SUMS;
    if ((unsigned)contraction->routing > KILN_ROUTING_SUMS)
        fault(checker, "routing %u does not exist", (unsigned)contraction->routing);
    if (counts[KILN_AXIS_GROUP] != (has_rows ? 1 : 0))
        fault(checker, "%" PRIu32 " axes of groups", counts[KILN_AXIS_GROUP]);
    if ((contraction->top_k >= 1) != (contraction->routing == KILN_ROUTING_SCATTER))
        fault(checker, "top k of %" PRId64, contraction->top_k);
    if (has_rows && (counts[KILN_AXIS_M] != 1 || counts[KILN_AXIS_BATCH] != 0))
        fault(checker, "groups of other than one axis of rows");
    if (has_sums && (counts[KILN_AXIS_K] != 1 || counts[KILN_AXIS_BATCH] != 1))
        fault(checker, "groups of other than one axis of k");
    if ((has_rows || has_sums) && kiln_contraction_image(contraction)->window_count != 0)
        fault(checker, "groups and windows");
}

/* The sizes that an operand's map sees: rows that are gathered are as many as the operand has. */
static void find_sizes(const struct checker *checker, enum kiln_contract_operand side,
                       int64_t *ret_sizes)
{
    const struct kiln_contraction *contraction = checker->contraction;
    const struct kiln_contraction_setting *setting = checker->setting;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        uint8_t along = contraction->maps[side].axes[i].along;
        bool is_gathered = contraction->routing == KILN_ROUTING_GATHER &&
                           side == KILN_CONTRACT_LEFT && contraction->roles[i] == KILN_AXIS_M;
        ret_sizes[i] = !is_gathered ? contraction->sizes[i]
                       : along < setting->ranks[side]
                           ? setting->dims[side][setting->ranks[side] - 1 - along]
                           : 1;
    }
}

static void check_map(struct checker *checker, enum kiln_contract_operand side)
{
    const struct kiln_contraction *contraction = checker->contraction;
    int64_t sizes[KILN_CONTRACTION_MAX_AXES];
    find_sizes(checker, side, sizes);
    const struct kiln_map_setting setting = {
        .name = checker->setting->names[side],
        .sizes = sizes,
        .axis_count = contraction->axis_count,
        .dims = checker->setting->dims[side],
        .rank = checker->setting->ranks[side],
        .is_result = side == KILN_CONTRACT_RESULT,
    };
    checker->fault_count += kiln_map_validate(&contraction->maps[side], &setting, checker->faults);
}

uint32_t kiln_contraction_validate(const struct kiln_contraction *contraction,
                                   const struct kiln_contraction_setting *setting,
                                   struct kiln_buffer *faults)
{
    struct checker checker = {.contraction = contraction, .setting = setting, .faults = faults};
    if (contraction->axis_count > KILN_CONTRACTION_MAX_AXES) {
        fault(&checker, "%" PRIu32 " axes are too many", contraction->axis_count);
        return checker.fault_count;
    }
    if (contraction->image != KILN_CONTRACT_LEFT && contraction->image != KILN_CONTRACT_RIGHT) {
        fault(&checker, "the image is no operand");
        return checker.fault_count;
    }
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(contraction, i);
        if (axis.size < 1 || !is_of_its_role(&axis)) {
            fault(&checker, "axis %" PRIu32 " is not one of its role", i);
            return checker.fault_count;
        }
    }
    enum kiln_contract_operand other =
        contraction->image == KILN_CONTRACT_LEFT ? KILN_CONTRACT_RIGHT : KILN_CONTRACT_LEFT;
    if (contraction->maps[other].window_count != 0)
        fault(&checker, "the operand that is no image has windows");
    check_role_counts(&checker);
    check_routing(&checker);
    for (int side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++)
        check_map(&checker, (enum kiln_contract_operand)side);
    return checker.fault_count;
}
