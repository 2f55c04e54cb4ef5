#include "compiler/families/contraction/schedule/contraction_hopper.h"

#include "compiler/families/contraction/schedule/contraction_fragments.h"

#include <math.h>

enum {
    TRANSPOSED_ROWS = 64, /* of an operand that lies along its rows: a line of LDS */
    WAVE_ROWS = 16,
    LEAST_LIMIT = 128, /* in forms of fewer rows and columns the tiles are the others' */
    K_BYTES = 128,
    UNPACKED_COLUMNS = 64,
    LDS_BYTES = 192 << 10,
    MOST_BUFFERS = 16,
};

enum { MOST_CLUSTERS = 4 };

/*
 * Consumers that share the k of a tile, and work-groups that do: a cluster
 * (kernels_templates/device/contraction/cluster.h). Each pair is a kernel to compile. By the model
 * these are within 0.3 % of all pairs of 11 tiles with 1, 2, 3 and 6 work-groups, and within 11 %
 * for any of 700 products.
 *
 * A work-group has a compute unit to itself, but for the last two: where there are many tiles with
 * few steps each, the first loads of one and the stores of another are at the same time.
 *
 * Producers are warps: fewer than four were slower on an H200 (84 % of them with one). Two leave
 * registers for two work-groups.
 */
static const struct tile {
    uint32_t rows, columns, waves_k, residents, producers;
    uint32_t clusters[MOST_CLUSTERS]; /* then 0 */
} tiles[] = {
    {128, 256, 1, 1, 4, {1}},         {128, 192, 1, 1, 4, {1, 2}}, {128, 128, 1, 1, 4, {1, 2, 3}},
    {64, 128, 1, 1, 4, {1, 2, 3, 6}}, {64, 64, 1, 1, 4, {2}},      {64, 64, 2, 1, 4, {1, 2, 6}},
    {64, 32, 2, 1, 4, {1, 2, 3}},     {64, 64, 1, 3, 4, {1}},      {128, 128, 1, 2, 2, {1}},
};

static double divide_up(double a, double b)
{
    return ceil(a / b);
}

/*
 * How many clusters run at the same time. Two multiprocessors are neighbours everywhere. More have
 * to be of the same part of the chip, and how many of those parts' 18 a chip has differs: seven
 * times 16 and once 14 is what an H200 was seen to have at least (32 clusters of 3 ran at once, 32
 * of 4 did not).
 */
static double count_clusters_at_once(const struct kiln_target *target, uint32_t cluster)
{
    enum { PARTS = 7, UNITS = 16, UNITS_OF_LAST = 14 };
    return cluster <= 2 ? target->compute_units / cluster
                        : PARTS * (UNITS / cluster) + UNITS_OF_LAST / cluster;
}

static double memory_ns(const struct kiln_tile_problem *problem,
                        const struct kiln_contraction_schedule *contraction)
{
    double m = (double)contraction->problem.m,
           n = (double)contraction->problem.n * contraction->problem.products;
    double bytes = m * (double)contraction->problem.k * problem->left.memory_bytes +
                   n * (double)contraction->problem.k * problem->right.memory_bytes +
                   m * (double)contraction->problem.n * problem->result_bytes;
    return (double)problem->batch * bytes / (0.915 * problem->target->bandwidth_gbs);
}

/* What is not the bottleneck does not hide behind it completely. */
static double overlap(double a, double b)
{
    return fmax(a, b) + 0.17 * fmin(a, b);
}

/* Rows of a tile whose elements are computed of blocks, which producers do. */
static double unpacked_rows(const struct kiln_tile_problem *problem,
                            const struct kiln_contraction_schedule *contraction)
{
    if (problem->lane_run <= 1)
        return 0;
    return (problem->left.cost != 0 ? contraction->tile.m : 0.0) +
           (problem->right.cost != 0 ? contraction->tile.n : 0.0);
}

/*
 * Time of one tile of k while `groups` work-groups are at it, which is the longest of these:
 * - loads of a compute unit, and of all units from the cache;
 * - multiplications, whose instructions read their operands from LDS. The whole chip slows down
 *   when all of it multiplies;
 * - the way round the ring, and what a set of consumers does from one tile to its next;
 * - what producers compute of blocks.
 */
static double step_ns(const struct kiln_tile_problem *problem,
                      const struct kiln_contraction_schedule *contraction, double groups)
{
    /* Measured on an H100: an element of FP4 and E8M0 becomes a half in 0.085 with four producer
     * warps, and in 0.06 with eight. */
    static const double UNPACKED_NS = 0.17;
    static const double UNIT_BYTES_PER_NS = 125, CACHE_BYTES_PER_NS = 11700;
    static const double UNIT_PRODUCTS_PER_NS = 4080, CHIP_PRODUCTS_PER_NS = 500000, OPERANDS = 15;
    static const double ROUND_TRIP_NS = 1600, CONSUMERS_NS = 200;
    double rows = contraction->tile.m, columns = contraction->tile.n;
    double bytes = (fmin((double)contraction->problem.m, rows) + columns) * (double)K_BYTES;
    double products =
        rows * columns * contraction->tile.k * (1 + OPERANDS * (1 / rows + 1 / columns));
    double loads = fmax(bytes / UNIT_BYTES_PER_NS, groups * bytes / CACHE_BYTES_PER_NS);
    double multiplications =
        fmax(products / UNIT_PRODUCTS_PER_NS, groups * products / CHIP_PRODUCTS_PER_NS);
    double waits = fmax(ROUND_TRIP_NS / kiln_pipeline_buffers(&contraction->pipeline),
                        CONSUMERS_NS / contraction->tile.waves_k);
    double unpacking = UNPACKED_NS / sqrt(kiln_pipeline_producer_waves(&contraction->pipeline)) *
                       unpacked_rows(problem, contraction) * contraction->tile.k;
    return fmax(fmax(waits, unpacking), fmax(loads, multiplications));
}

/*
 * Fitted to 645 kernels on an H200 (half, 49 products with 1 to 8192 rows, all tiles and clusters
 * that are not far behind the best): within 9 % of most, and what it chooses is within 5 % of the
 * best. After the steps along k all sums go through LDS, once for each set of consumers, and the
 * more work-groups share them the longer it takes.
 */
static double time_ns(const struct kiln_tile_problem *problem,
                      const struct kiln_contraction_schedule *contraction)
{
    static const double FIRST_LOADS_NS = 1000, CLUSTER_NS = 420, MEMBER_NS = 275;
    static const double READ_NS = 0.135, WRITE_NS = 0.033; /* of a sum */
    uint32_t cluster = kiln_pipeline_groups(&contraction->pipeline);
    double count = (double)kiln_count_contraction_tiles(problem, contraction);
    double at_once = count_clusters_at_once(problem->target, cluster);
    double full = floor(count / at_once), rest = count - full * at_once;
    double turns = full + (rest > 0 ? 1 : 0);
    double steps =
        divide_up(divide_up((double)contraction->problem.k, contraction->tile.k), cluster);
    double busy = full > 0 ? full * steps * step_ns(problem, contraction, at_once * cluster) : 0;
    if (rest > 0)
        busy += steps * step_ns(problem, contraction, rest * cluster);
    double columns = contraction->tile.n;
    double finish = READ_NS * fmin((double)contraction->problem.m, contraction->tile.m) * columns *
                        contraction->tile.waves_k +
                    WRITE_NS * contraction->tile.m * columns;
    double shared = cluster == 1 ? 0 : CLUSTER_NS + MEMBER_NS * (cluster - 1);
    return FIRST_LOADS_NS + turns * finish + shared +
           overlap(busy, memory_ns(problem, contraction));
}

/* Unpacking blocks bounds the kernel, or a wave's loads do, which wait for the step before.
 * Measured on an H100 with FP4 and E8M0 as halves. */
static double unpacked_stream_ns(const struct kiln_tile_problem *problem,
                                 const struct kiln_contraction_schedule *contraction, double groups,
                                 double turns)
{
    static const double ELEMENT_NS = 0.035, STEP_NS = 1530;
    double k = (double)contraction->problem.k;
    double steps = divide_up(k, kiln_lane_step(contraction) * contraction->tile.waves_k);
    return fmax(divide_up(groups, problem->target->compute_units) * ELEMENT_NS *
                    contraction->tile.n * k,
                turns * steps * STEP_NS);
}

/* Fitted likewise, with 16 rows and less. Two work-groups of 8 waves share a compute unit. */
double kiln_hopper_stream_time_ns(const struct kiln_tile_problem *problem,
                                  const struct kiln_contraction_schedule *contraction)
{
    static const double FIRST_LOADS_NS = 1000, MOST_WAVES = 16;
    double step = contraction->tile.waves_k >= 16 ? 40 : 54; /* of 16 columns */
    double k_bytes = (double)contraction->problem.k * kiln_dtype_info(contraction->staged)->bytes;
    double units = problem->target->compute_units;
    double groups = (double)kiln_count_contraction_tiles(problem, contraction);
    double turns = divide_up(groups, units * floor(MOST_WAVES / contraction->tile.waves_k));
    double busy = problem->lane_run > 1
                      ? unpacked_stream_ns(problem, contraction, groups, turns)
                      : divide_up(groups, units) * step * contraction->problem.products * k_bytes /
                            (double)K_BYTES;
    return FIRST_LOADS_NS * turns + overlap(busy, memory_ns(problem, contraction));
}

/* Unpacking blocks takes more warps, if few consumers leave registers for them. */
static uint32_t producers_of(const struct kiln_tile_problem *problem, const struct tile *tile)
{
    enum { UNPACKING = 8, FEW_ROWS = 64 };
    return problem->lane_run > 1 && tile->rows == FEW_ROWS && tile->residents == 1
               ? UNPACKING
               : tile->producers;
}

static void take(const struct kiln_tile_problem *problem, const struct tile *tile, uint32_t cluster,
                 struct kiln_contraction_schedule *contraction)
{
    uint32_t buffers =
        (uint32_t)LDS_BYTES / K_BYTES / (tile->rows + tile->columns) / tile->residents;
    contraction->tile.m = tile->rows;
    contraction->tile.n = tile->columns;
    contraction->tile.k = (uint32_t)K_BYTES / kiln_dtype_info(contraction->staged)->bytes;
    contraction->tile.waves_m = tile->rows / WAVE_ROWS;
    contraction->tile.waves_n = 1;
    contraction->tile.waves_k = tile->waves_k;
    contraction->pipeline = (struct kiln_pipeline){
        .kind = KILN_PIPELINE_SPECIALIZED,
        .specialized = {.buffers = buffers < MOST_BUFFERS ? buffers : MOST_BUFFERS,
                        .producer_waves = producers_of(problem, tile),
                        .groups = cluster},
    };
}

static bool is_wanted(const struct kiln_contraction_options *forced,
                      const struct kiln_contraction_schedule *tried)
{
    bool is_tile =
        forced->tile_m == 0 || (forced->tile_m == tried->tile.m && forced->tile_n == tried->tile.n);
    bool are_waves = forced->waves_m == 0 || (forced->waves_m == tried->tile.waves_m &&
                                              forced->waves_n == tried->tile.waves_n &&
                                              forced->waves_k == tried->tile.waves_k);
    return is_tile && are_waves && (forced->tile_k == 0 || forced->tile_k == tried->tile.k);
}

/* Of more work-groups in a compute unit no model was fitted: they were measured where columns are
 * one small tile and rows many, and where k is short. */
static bool are_residents_wanted(const struct kiln_tile_problem *problem, const struct tile *tile,
                                 const struct kiln_contraction_schedule *tried)
{
    enum { LEAST_TURNS = 2, SMALL_TILE = 64, SHORT_K_STEPS = 4 };
    uint64_t at_once = (uint64_t)problem->target->compute_units * tile->residents;
    bool is_suited = tile->columns <= SMALL_TILE
                         ? tried->problem.n * tried->problem.products <= (int64_t)tile->columns
                         : tried->problem.k <= (int64_t)SHORT_K_STEPS * tried->tile.k;
    return is_suited && kiln_count_contraction_tiles(problem, tried) >= LEAST_TURNS * at_once;
}

static bool is_possible(const struct kiln_tile_problem *problem,
                        const struct kiln_contraction_schedule *tried)
{
    uint32_t columns = problem->right.is_along_rows ? TRANSPOSED_ROWS : 16;
    if (tried->tile.n % (columns * tried->problem.products) != 0 || kiln_has_part_of_block(tried))
        return false;
    /* Each producer has a run of packs of blocks. Otherwise tiles are not loaded ahead. */
    if (problem->lane_run > 1 && tried->tile.n < UNPACKED_COLUMNS)
        return false;
    return kiln_pipeline_groups(&tried->pipeline) == 1 ||
           (!problem->is_alone &&
            tried->problem.k >= (int64_t)kiln_pipeline_groups(&tried->pipeline) * tried->tile.k);
}

/* True if producers would have to join packs from aligned words, or find elements of convolutions
 * one by one: they are few, and do not get enough loads on their way. On an H100 staged tiles took
 * half to a quarter of the time for four products of odd sizes, and about two thirds for a
 * convolution of three channels and its gradients. */
static bool loads_too_much(const struct kiln_tile_problem *problem,
                           const struct kiln_contraction_schedule *contraction)
{
    bool is_joined = problem->left.is_joined || problem->right.is_joined;
    bool are_whole = problem->left.is_whole && problem->right.is_whole;
    return (is_joined || (contraction->problem.windows.count != 0 && !are_whole)) &&
           problem->forced->form != KILN_CONTRACTION_SPECIALIZED;
}

bool kiln_choose_hopper_tile(const struct kiln_tile_problem *problem,
                             struct kiln_contraction_schedule *contraction)
{
    const struct kiln_mma *mma = kiln_mma_find(problem->target, contraction->staged, 256);
    if (mma == NULL || mma->layout != KILN_MMA_LAYOUT_WGMMA ||
        problem->limits->held_elems < LEAST_LIMIT || loads_too_much(problem, contraction))
        return false;
    struct kiln_contraction_schedule best = *contraction;
    best.time_ns = INFINITY;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        for (size_t c = 0; c < MOST_CLUSTERS && tiles[i].clusters[c] != 0; c++) {
            struct kiln_contraction_schedule tried = *contraction;
            take(problem, &tiles[i], tiles[i].clusters[c], &tried);
            if (!is_possible(problem, &tried) || !is_wanted(problem->forced, &tried))
                continue;
            bool shares_unit = tiles[i].residents > 1;
            if (shares_unit && !are_residents_wanted(problem, &tiles[i], &tried))
                continue;
            tried.time_ns = time_ns(problem, &tried) / tiles[i].residents;
            kiln_note_tile(problem, &tried, tried.time_ns);
            if (tried.time_ns < best.time_ns)
                best = tried;
        }
    }
    if (best.time_ns == INFINITY)
        return false;
    best.tile.mma = mma;
    *contraction = best;
    return true;
}
