/* What holds for the schedule of any reduction group. */
#include "compiler/families/reduction/schedule/reduction_lds.h"
#include "compiler/families/reduction/schedule/reduction_local.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>

enum { CASES = 4000 };

static const int64_t sizes[] = {1,  1,  2,  3,  3,   5,   7,   7,    8,    13,    16,
                                31, 49, 64, 97, 128, 197, 256, 1000, 1009, 65537, 1 << 20};
static const enum kiln_dtype dtypes[] = {KILN_DTYPE_F16, KILN_DTYPE_BF16, KILN_DTYPE_F32,
                                         KILN_DTYPE_F64};

static uint32_t pick(uint64_t *state, uint32_t count)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % count;
}

static struct reduction_case random_case(uint64_t *state)
{
    struct reduction_case result = {
        .content = pick(state, REDUCTION_CONTENT_COUNT),
        .rank = 1 + pick(state, 5),
        .is_reversed = pick(state, 4) == 0,
        .dtype = dtypes[pick(state, 4)],
        .segment_count = 1,
    };
    int64_t elements = 1;
    for (uint32_t i = 0; i < result.rank; i++) {
        result.dims[i] = sizes[pick(state, sizeof sizes / sizeof *sizes)];
        if (elements * result.dims[i] > (int64_t)1 << 33)
            result.dims[i] = 2;
        elements *= result.dims[i];
    }
    result.reduced_axes = pick(state, 1u << result.rank);
    uint32_t longer = pick(state, result.rank);
    result.reduced_axes |= 1u << longer;
    if (result.dims[longer] == 1)
        result.dims[longer] = 6;
    if (result.content <= REDUCTION_STATISTICS && pick(state, 2) == 0) {
        result.role = pick(state, 2) == 0 ? KILN_ROLE_PARTIAL : KILN_ROLE_COMBINE;
        result.segment_count = 1 + pick(state, 600);
    }
    return result;
}

static void random_target(uint64_t *state, struct ir_fixture *fixture)
{
    static const uint32_t requests[] = {0, 0, 0, 1, 2, 3};
    fixture->options.max_vector_elements = requests[pick(state, 6)];
    if (pick(state, 8) == 0)
        fixture->target.lds_bytes = 256;
    if (fixture->target.kind == KILN_TARGET_HOST && pick(state, 2) == 0)
        fixture->target.wave_size = 8u << pick(state, 4);
    if (pick(state, 8) == 0)
        fixture->target.kind = KILN_TARGET_CUDA;
}

static bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* The last element's offset, and how many elements are distinct. */
static void check_access(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         const struct kiln_schedule *schedule, uint32_t index)
{
    const struct kiln_access *access = &group->accesses[index];
    const struct kiln_access_schedule *layout = &schedule->accesses[index];
    const struct kiln_domain *domain = &ir->domains[group->domain];
    int64_t expected = 0;
    int64_t last = 0;
    for (uint32_t i = 0; i < domain->rank; i++)
        expected += (domain->dims[i] - 1) * access->strides[i];
    if (group->role == KILN_ROLE_COMBINE && access->is_accumulator)
        expected += (group->segment_count - 1) * access->segment_stride;
    for (uint32_t i = 0; i < schedule->walk.rank; i++)
        last += (schedule->walk.dims[i] - 1) * layout->strides[i];
    cr_assert_eq(last, expected);

    int64_t along = layout->strides[schedule->walk.rank - 1];
    cr_assert_neq(layout->mode, KILN_ACCESS_TRANSPOSED);
    cr_assert_eq(layout->mode == KILN_ACCESS_SPLAT, along == 0);
    if (layout->mode == KILN_ACCESS_VECTOR)
        cr_assert_eq(along, 1);
    bool may_misalign = layout->mode == KILN_ACCESS_GATHER && along == 1;
    cr_assert(!may_misalign || layout->alignment_bytes == kiln_dtype_info(access->dtype)->bytes);
    if (access->place == KILN_PLACE_ROW) {
        cr_assert_eq(layout->guard_axes & schedule->walk.reduced_axes, 0);
        for (uint32_t i = 0; i < schedule->walk.rank; i++)
            cr_assert(!((schedule->walk.reduced_axes >> i) & 1u) || layout->strides[i] == 0);
    }
}

static void check_work(const struct kiln_target *target, const struct reduction_case *reduction,
                       const struct kiln_schedule *schedule)
{
    const struct kiln_reduction_schedule *layout = kiln_reduction_schedule_of(schedule);
    uint64_t reduced = 1;
    uint64_t kept = 1;
    for (uint32_t i = 0; i < reduction->rank; i++) {
        bool is_reduced = (reduction->reduced_axes >> i) & 1u;
        *(is_reduced ? &reduced : &kept) *= (uint64_t)reduction->dims[i];
    }
    if (reduction->role == KILN_ROLE_COMBINE)
        reduced = reduction->segment_count;
    uint64_t inner = (uint64_t)schedule->walk.dims[schedule->walk.rank - 1];
    uint64_t vectors = ceil_div(inner, schedule->walk.vector_elems);
    bool inner_is_reduced = (schedule->walk.reduced_axes >> (schedule->walk.rank - 1)) & 1u;
    cr_assert_eq(kiln_reduction_is_columns(layout), !inner_is_reduced);
    cr_assert_eq(schedule->walk.cols, inner);
    cr_assert_eq(layout->step_count,
                 kiln_reduction_is_columns(layout) ? reduced : reduced / inner * vectors);
    cr_assert_eq(layout->kept_count,
                 kiln_reduction_is_columns(layout) ? kept / inner * vectors : kept);
    uint32_t segments = reduction->role == KILN_ROLE_PARTIAL ? reduction->segment_count : 1;
    cr_assert_eq(layout->segment_count, segments);
    cr_assert_eq(layout->steps_per_segment, ceil_div(layout->step_count, segments));

    uint32_t items = layout->items_along_reduced;
    cr_assert(is_power_of_two(schedule->walk.vector_elems) && schedule->walk.vector_elems <= inner);
    cr_assert(is_power_of_two(items) && is_power_of_two(layout->items_along_kept));
    cr_assert_eq(schedule->launch.block, items * layout->items_along_kept);
    cr_assert_leq(schedule->launch.block, 1024);
    uint64_t steps = ceil_div(layout->steps_per_segment, items);
    cr_assert_geq(layout->steps_per_item, 1);
    cr_assert_eq(schedule->walk.sizes != KILN_SIZES_CONSTANT,
                 reduction->role == KILN_ROLE_COMBINE && kiln_reduction_is_columns(layout));
    if (schedule->walk.sizes != KILN_SIZES_CONSTANT) {
        cr_assert_not(kiln_reduction_is_held(layout), "the kernel is one of more steps, too");
    } else {
        cr_assert_lt(items, 2 * layout->steps_per_segment, "work-items without a step");
        cr_assert_lt(layout->items_along_kept, 2 * layout->kept_count, "work-items without a row");
        cr_assert_leq(layout->steps_per_item, steps);
        cr_assert_eq(kiln_reduction_is_held(layout), layout->steps_per_item == steps);
    }
    cr_assert_eq(schedule->launch.chunk_count,
                 ceil_div(layout->kept_count, layout->items_along_kept) * segments);
    cr_assert(schedule->launch.grid >= 1 && schedule->launch.grid <= schedule->launch.chunk_count);
    if (target->wave_size == 1)
        cr_assert_eq(items, 1);
}

static void check_traffic(const struct reduction_case *reduction,
                          const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule)
{
    uint64_t moved = schedule->traffic.bytes_moved;
    cr_assert_geq(moved, schedule->traffic.bytes_fewest);
    cr_assert_leq(moved, kiln_reduction_schedule_of(schedule)->passes.pass_count *
                             schedule->traffic.bytes_fewest);
    cr_assert(!kiln_reduction_is_held(kiln_reduction_schedule_of(schedule)) ||
              moved == schedule->traffic.bytes_fewest);
    if (reduction->role != KILN_ROLE_WHOLE || reduction->content <= REDUCTION_STATISTICS)
        cr_assert_eq(moved, schedule->traffic.bytes_fewest, "one pass reads all");
    cr_assert_geq(schedule->traffic.bytes_fewest, group->access_count);
}

static void check_on(const char *target_name)
{
    uint64_t state = 42;
    for (int number = 0; number < CASES; number++) {
        struct reduction_case reduction = random_case(&state);
        struct ir_fixture *fixture = reduction_fixture_create(target_name);
        random_target(&state, fixture);
        struct kiln_fusion_group group = reduction_fixture_group(fixture, &reduction);
        struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
        check_work(&fixture->target, &reduction, &schedule);
        for (uint32_t i = 0; i < group.access_count; i++)
            check_access(&fixture->ir, &group, &schedule, i);
        check_traffic(&reduction, &group, &schedule);
        cr_assert_leq(schedule.launch.lds_bytes, fixture->target.lds_bytes);
        const struct kiln_reduction_schedule *layout = kiln_reduction_schedule_of(&schedule);
        uint32_t wave = fixture->target.wave_size;
        cr_assert_eq(schedule.launch.lds_bytes,
                     layout->held == KILN_HELD_LOCAL
                         ? kiln_local_bytes(&group, &schedule, wave)
                         : kiln_reduction_lds_bytes(&layout->passes, layout,
                                                    schedule.walk.vector_elems, wave));
        uint32_t request = fixture->options.max_vector_elements;
        cr_assert(request == 0 || schedule.walk.vector_elems <= request);
        ir_fixture_destroy(fixture);
    }
}

Test(schedule_reduction_random, holds_on_wave64)
{
    check_on("gfx906");
}

Test(schedule_reduction_random, holds_on_wave32)
{
    check_on("gfx1201");
}

Test(schedule_reduction_random, holds_on_the_host)
{
    check_on("host");
}
