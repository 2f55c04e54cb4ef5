#include "compiler/families/contraction/schedule/contraction_time.h"

#include "compiler/families/contraction/schedule/contraction_fragments.h"

#include <math.h>
#include <string.h>

#define NOT_HIDDEN       0.1
#define SMALL_NOT_HIDDEN 0.3 /* of work-items that wait for themselves */
#define MEMORY_SHARE     0.8 /* of the peak that a vendor publishes: what copies reach */
/* Local memory of a compute unit. On some targets a work-group may have only a part of it. */
#define LEAST_UNIT_LDS_BYTES (64 * 1024.0)
/* Tiles on their way where waves share the k of a tile, and elsewhere: device/contraction/staged.h.
 */
#define TILES_AHEAD        1
#define SHARED_TILES_AHEAD 2

struct speed {
    const char *processors;
    double cache, unit, latency, line;
};

static const struct speed *speed_of(const struct kiln_target *target)
{
    static const struct speed rows[] = {
#define KILN_SPEED(...) {__VA_ARGS__},
#include "compiler/families/contraction/schedule/contraction_speed.def"
    };
    size_t i = 0;
    while (strncmp(target->processor, rows[i].processors, strlen(rows[i].processors)) != 0)
        i++;
    return &rows[i];
}

/* The bottleneck hides most of the other bounds, but not all. */
static double join_bounds(const double *bounds, size_t count, double not_hidden)
{
    double most = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, bounds[i]);
        sum += bounds[i];
    }
    return most + (sum - most) * not_hidden;
}

double kiln_cache_line_bytes(const struct kiln_target *target)
{
    return speed_of(target)->line;
}

/* Operations in a nanosecond of a compute unit that does nothing else. */
static double operations_per_ns(const struct kiln_contraction_schedule *contraction,
                                const struct kiln_target *target)
{
    uint32_t bytes = kiln_dtype_info(contraction->staged)->bytes;
    bool is_narrow = contraction->tile.mma != NULL && bytes <= 2 && target->matrix_gflops != 0;
    double all = is_narrow ? (double)target->matrix_gflops * 2 / bytes : target->vector_gflops;
    return all / target->compute_units;
}

/*
 * How much longer a compute unit takes for an operand's loads than for long ones of neighbours. An
 * AMD GPU's address unit takes a cache line at a time for 16 lanes: a streamed fragment along k
 * has 16 rows there. Element by element, all of it is done once for each.
 */
static double load_cost(const struct kiln_tile_problem *problem, bool is_streamed,
                        const struct kiln_tile_operand *operand, double rows, uint32_t tile_rows)
{
    bool is_amd = problem->target->kind == KILN_TARGET_AMDGPU;
    if (operand->is_along_rows && is_streamed) {
        double run = operand->is_whole ? tile_rows / 16.0 : 1;
        return run >= 4 ? 1 : 4 / run;
    }
    double lines = is_streamed && is_amd ? fmax(1, fmin(rows, 16) / 4) * operand->load_excess : 1;
    return lines * (operand->is_whole ? 1 : 8);
}

double kiln_model_contraction_time(const struct kiln_tile_problem *problem,
                                   const struct kiln_contraction_schedule *contraction,
                                   double efficiency)
{
    const struct kiln_target *target = problem->target;
    const struct speed *speed = speed_of(target);
    double groups = (double)kiln_count_contraction_tiles(problem, contraction);
    double units = target->compute_units;
    double m = (double)contraction->problem.m, n = (double)contraction->problem.n,
           k = (double)contraction->problem.k;
    /* Rows beyond the end are read from the nearest cache. */
    double rows_m = fmin(m, contraction->tile.m);
    double rows_n = fmin(n * contraction->problem.products, contraction->tile.n);
    double group_bytes =
        (rows_m * problem->left.memory_bytes + rows_n * problem->right.memory_bytes) * k;
    double bytes = (double)problem->batch *
                   (m * k * problem->left.memory_bytes + n * k * problem->right.memory_bytes +
                    m * n * problem->result_bytes);
    /* The busiest compute unit: what it takes, and what it has on its way meanwhile. */
    uint32_t waves =
        contraction->tile.waves_m * contraction->tile.waves_n * contraction->tile.waves_k;
    double unit_lds_bytes = fmax(LEAST_UNIT_LDS_BYTES, target->lds_bytes);
    double together =
        fmin(16.0 / waves,
             unit_lds_bytes / kiln_contraction_lds_bytes(contraction, target, problem->sum_bytes));
    double turns = (double)(uint64_t)((groups + units - 1) / units);
    double resident = fmin(together < 1 ? 1 : (double)(uint64_t)together, turns);
    bool is_streamed = contraction->pipeline.kind == KILN_PIPELINE_STREAMED;
    double tiles_ahead = is_streamed                     ? contraction->tile.waves_k
                         : contraction->tile.waves_k > 1 ? SHARED_TILES_AHEAD
                                                         : TILES_AHEAD;
    double in_flight = resident * fmin(tiles_ahead * contraction->tile.k, k) *
                       (rows_m * problem->left.memory_bytes + rows_n * problem->right.memory_bytes);
    double unit_bytes =
        (load_cost(problem, is_streamed, &problem->left, rows_m, contraction->tile.m) * rows_m *
             problem->left.memory_bytes * k +
         load_cost(problem, is_streamed, &problem->right, rows_n, contraction->tile.n) * rows_n *
             problem->right.memory_bytes * k);
    double operations = 2.0 * contraction->tile.m * contraction->tile.n * k;
    double computed = ((double)contraction->tile.m * problem->left.cost +
                       (double)contraction->tile.n * problem->right.cost) *
                      k;
    const double bounds[] = {
        bytes / (MEMORY_SHARE * target->bandwidth_gbs),
        groups * group_bytes / speed->cache,
        turns * unit_bytes / speed->unit,
        turns * group_bytes / (in_flight / speed->latency),
        turns * operations / (operations_per_ns(contraction, target) * efficiency),
        turns * computed * units / (target->vector_gflops / 2.0),
    };
    /* The first loads, and the end of each tile. */
    return join_bounds(bounds, sizeof bounds / sizeof *bounds, NOT_HIDDEN) +
           (1 + turns) * speed->latency;
}

double kiln_tile_starts_ns(const struct kiln_target *target, uint64_t groups)
{
    /* By the emulator's model of an MI300X a tile of 16 or 32 of k takes 1.8 to 2.9 us. */
    const double each = 2 * speed_of(target)->latency;
    return each * (double)((groups + target->compute_units - 1) / target->compute_units);
}

/* Waves that a compute unit has at a time: four or more on each of its four SIMDs. */
static double resident_waves(const struct kiln_target *target, uint32_t registers)
{
    enum { REGISTERS = 512, MOST = 8, OTHERS = 32 };
    const double simds = 4;
    uint32_t waves = REGISTERS / (registers + OTHERS);
    waves = waves < 1 ? 1 : waves > MOST ? MOST : waves;
    return target->wave_size == 1 ? 1 : waves * simds;
}

double kiln_model_small_time(const struct kiln_target *target, const struct kiln_small_work *work)
{
    const struct speed *speed = speed_of(target);
    double units = target->compute_units;
    double groups = work->items / work->block;
    /* The busiest compute unit: its work-groups, and how often it begins as many as fit. */
    double busiest = ceil(groups / units);
    double items = busiest * work->block;
    double resident = resident_waves(target, work->item_registers) * target->wave_size;
    double turns = items < resident ? 1 : items / resident;
    /* A step waits for all that the compute unit asks for in it, and so twice as long. */
    double waits = target->wave_size == 1 ? 0 : 1 + 2.0 * work->steps;
    /* By the emulator's models half of what is delivered again comes from memory. */
    double again = 0.5 * (work->cache_bytes - work->bytes);
    const double bounds[] = {
        (work->bytes + again) / (MEMORY_SHARE * target->bandwidth_gbs),
        work->cache_bytes / speed->cache,
        items * work->item_bytes / speed->unit,
        /* An AMD GPU's compute unit loads 64 bytes and does 64 simple operations in a clock. */
        items * work->item_operations / speed->unit,
        turns * waits * speed->latency,
    };
    return join_bounds(bounds, sizeof bounds / sizeof *bounds, SMALL_NOT_HIDDEN) +
           2 * speed->latency;
}
