#include "compiler/families/contraction/schedule/contraction_small.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_time.h"
#include "compiler/schedule/vector_access.h"

#include <math.h>

enum {
    MOST_K = 128,        /* beyond, waves that share k are faster */
    MOST_SUMS = 64,      /* of a work-item, in registers */
    MOST_LOADED = 96,    /* values of both operands in a step, in registers */
    MOST_PRODUCTS = 512, /* multiply-adds of a step in the text */
    MOST_COMPUTED = 512, /* simple operations of a step, in the text, that make operands */
    HOST_BLOCK = 64,     /* a call of the kernel for so many work-items */
    LEAST_BYTES = 4,     /* an access takes as long as so many */
    FP8_COST = 8,        /* of a conversion without an instruction for it */
};

#define CLOCK_BYTES 64.0  /* of a compute unit's loads */
#define BLOCK_SHARE 640.0 /* a block of so many elements would take twice as long */
/* Simple operations of a work-item that finds its elements, and of an access. */
#define START_COST  60.0
#define ACCESS_COST 1.0

/* ---- where it is possible ---- */

/* True if blocks share an element along rows or columns. These may become batches, which are not
 * divided by the size of a block. */
static bool has_blocks_of_rows(const struct kiln_contraction_problem *problem)
{
    bool is_found = false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        for (uint32_t k = 0; k < problem->axes->axis_count; k++) {
            const struct kiln_contraction_axis axis = kiln_contraction_axis_at(problem->axes, k);
            is_found |= axis.role != KILN_AXIS_K &&
                        kiln_repeat_along(problem, &problem->group->accesses[i], &axis) != 0;
        }
    }
    return is_found;
}

bool kiln_may_contraction_be_small(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    const struct kiln_contraction_options *forced = &problem->schedule->options->contraction;
    bool is_free = forced->form == KILN_CONTRACTION_ANY && forced->tile_m == 0 &&
                   forced->tile_k == 0 && forced->waves_m == 0;
    bool is_forced = forced->form == KILN_CONTRACTION_SMALL && forced->waves_m == 0;
    return (is_free || is_forced) && problem->axes->routing == KILN_ROUTING_NONE &&
           kiln_contraction_image(problem->axes)->window_count == 0 &&
           !has_blocks_of_rows(problem) && !kiln_group_has_statistics(group) &&
           !kiln_group_cuts_k(group) && kiln_group_block(problem->ir, group) == 0 &&
           kiln_group_packed_unit(group) == 1 &&
           kiln_group_operand_sum(problem->ir, group) == KILN_NONE;
}

static bool has_small_sizes(const struct kiln_contraction_schedule *contraction)
{
    return contraction->problem.rows.count == 1 && contraction->problem.columns.count == 1 &&
           contraction->problem.sums.count == 1 && contraction->problem.m <= KILN_SMALL_ROWS &&
           contraction->problem.n <= KILN_SMALL_ROWS && contraction->problem.k <= MOST_K;
}

/* ---- cost ---- */

/* A compute unit's work for all loads and stores of a work-item: the number of accesses, and the
 * bytes of 16-byte loads that take as long. */
struct traffic {
    double bytes;
    double accesses;
};

/* An operand, or the result, of one product: its rows, and what lies across them. */
struct matrix {
    uint32_t element_bytes;
    int64_t row_stride, column_stride;
    bool is_shared;      /* by all products */
    bool is_joined;      /* neighbours may be loaded together wherever they lie */
    uint32_t value_cost; /* simple operations that make an element's value */
};

/*
 * The places of lanes in an operand, or in the result. `together` neighbouring lanes are at one
 * place, and after `cycle` places a product's first one comes again. `apart` and `products_apart`
 * are the lines of the cache from one place, or product, to the next; 1 is the most.
 */
struct lane_places {
    double together, cycle;
    double apart, products_apart;
    double items; /* of a product */
};

/* Lines of the cache that so many neighbouring lanes read. */
static double count_lines(const struct lane_places *lanes, double count)
{
    double places = count < lanes->together ? 1 : count / lanes->together;
    double products = count < lanes->items ? 1 : count / lanes->items;
    if (lanes->cycle == 0)
        return 1 + (places - 1) * lanes->apart;
    places = places < lanes->cycle ? places : lanes->cycle;
    return (1 + (places - 1) * lanes->apart) * (1 + (products - 1) * lanes->products_apart);
}

/* A run of neighbours in memory, in the widest accesses that there are. An AMD GPU's address unit
 * takes 64 bytes of neighbouring lanes in a clock, of 16 lanes at most, or one line of theirs. */
static void add_run(struct traffic *traffic, const struct matrix *matrix,
                    const struct lane_places *lanes, int64_t elements, double runs)
{
    int64_t bytes = elements * (int64_t)matrix->element_bytes;
    if (!matrix->is_joined) {
        bytes = matrix->element_bytes;
        runs *= (double)elements;
    }
    for (int64_t width = KILN_ACCESS_BYTES; width >= 1 && bytes > 0; width /= 2) {
        double count = (double)(bytes / width) * runs;
        double taken = fmax((double)width, LEAST_BYTES);
        bytes %= width;
        traffic->accesses += count;
        traffic->bytes += count * taken * count_lines(lanes, CLOCK_BYTES / taken);
    }
}

/* A block of rows x columns elements, so many times. */
static void add_block(struct traffic *traffic, const struct matrix *matrix,
                      const struct lane_places *lanes, int64_t rows, int64_t columns, double times)
{
    if (matrix->column_stride == 1 && (matrix->row_stride == columns || rows == 1))
        add_run(traffic, matrix, lanes, rows * columns, times);
    else if (matrix->column_stride == 1)
        add_run(traffic, matrix, lanes, columns, times * (double)rows);
    else if (matrix->row_stride == 1)
        add_run(traffic, matrix, lanes, rows, times * (double)columns);
    else
        add_run(traffic, matrix, lanes, 1, times * (double)(rows * columns));
}

static struct matrix describe(const struct kiln_contraction_problem *problem, enum kiln_place place,
                              bool is_store, uint32_t computed)
{
    uint32_t access = kiln_contraction_heaviest(problem, place, is_store);
    struct matrix matrix = {.element_bytes = 1, .is_shared = true, .value_cost = computed};
    if (access == KILN_NONE)
        return matrix;
    const struct kiln_access *memory = &problem->group->accesses[access];
    const int64_t *strides = problem->schedule->accesses[access].strides;
    matrix.element_bytes = kiln_dtype_info(memory->dtype)->bytes;
    if (matrix.element_bytes == 1 && kiln_dtype_info(memory->dtype)->scalar == KILN_SCALAR_F32)
        matrix.value_cost += FP8_COST;
    else if (matrix.element_bytes < 4)
        matrix.value_cost++;
    matrix.row_stride = strides[KILN_STRIDE_ROW];
    matrix.column_stride = strides[KILN_STRIDE_COLUMN];
    for (uint32_t b = 0; b < problem->contraction->problem.batches.rank; b++)
        matrix.is_shared &= strides[KILN_STRIDE_BATCH + b] == 0;
    matrix.is_joined =
        kiln_vector_alignment(problem->target, memory->dtype, 2) <= matrix.element_bytes;
    return matrix;
}

/* ---- choice ---- */

struct small_problem {
    const struct kiln_tile_problem *tile;
    const struct kiln_contraction_schedule *contraction;
    struct matrix left, right, result;
    double products; /* of all batches */
};

/* Lines of the cache from one place to the next, so many bytes away; 1 is the most. */
static double lines_apart(const struct small_problem *problem, double bytes)
{
    double line = kiln_cache_line_bytes(problem->tile->target);
    return bytes < line ? bytes / line : 1;
}

/* Neighbouring lanes have neighbouring columns, and then the next rows. So they share rows of the
 * left operand, and come again to columns of the right one. */
static struct traffic count_traffic(const struct small_problem *problem,
                                    const struct kiln_contraction_schedule *tried)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    double row_items = tried->pipeline.small.row_items,
           column_items = tried->pipeline.small.column_items;
    double m = (double)contraction->problem.m, n = (double)contraction->problem.n,
           k = (double)contraction->problem.k;
    double steps = k / tried->tile.k;
    double left_bytes = m * k * problem->left.element_bytes;
    double right_bytes = n * k * problem->right.element_bytes;
    double result_bytes = m * n * problem->result.element_bytes;
    double right_apart =
        problem->right.row_stride == 1
            ? (double)tried->pipeline.small.item_columns * problem->right.element_bytes
            : right_bytes / column_items;
    const struct lane_places left = {
        .together = column_items,
        .apart = problem->left.is_shared ? 0 : lines_apart(problem, left_bytes / row_items),
    };
    const struct lane_places right = {
        .together = 1,
        .cycle = column_items,
        .apart = lines_apart(problem, right_apart),
        .products_apart = problem->right.is_shared ? 0 : lines_apart(problem, right_bytes),
        .items = row_items * column_items,
    };
    const struct lane_places result = {
        .together = column_items,
        .apart = lines_apart(problem, result_bytes / row_items),
    };
    struct traffic traffic = {0};
    add_block(&traffic, &problem->left, &left, tried->pipeline.small.item_rows, tried->tile.k,
              steps);
    add_block(&traffic, &problem->right, &right, tried->pipeline.small.item_columns, tried->tile.k,
              steps * contraction->problem.products);
    add_block(&traffic, &problem->result, &result, tried->pipeline.small.item_rows,
              tried->pipeline.small.item_columns, 1);
    return traffic;
}

/* Simple operations of a work-item. */
static double count_operations(const struct small_problem *problem,
                               const struct kiln_contraction_schedule *tried,
                               const struct traffic *traffic)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct kiln_tile_problem *tile = problem->tile;
    double rows = tried->pipeline.small.item_rows,
           columns = tried->pipeline.small.item_columns * contraction->problem.products;
    double multiplies = tile->sum_bytes / 4.0;
    return START_COST + ACCESS_COST * traffic->accesses +
           (double)contraction->problem.k *
               (rows * problem->left.value_cost + columns * problem->right.value_cost +
                rows * columns * multiplies) +
           2 * rows * columns;
}

/* The number of times that the second-level cache delivers an operand. A line along k serves
 * several steps, and leaves the nearest cache before the next one. */
static double deliveries(const struct small_problem *problem, const struct matrix *matrix,
                         const struct kiln_contraction_schedule *tried)
{
    double steps = (double)kiln_ceil_div_i64(tried->problem.k, tried->tile.k);
    double each = kiln_cache_line_bytes(problem->tile->target) /
                  ((double)tried->tile.k * matrix->element_bytes);
    return matrix->column_stride != 1 ? 1 : steps < each ? steps : fmax(each, 1);
}

static double model_time(const struct small_problem *problem,
                         const struct kiln_contraction_schedule *tried)
{
    const struct kiln_tile_problem *tile = problem->tile;
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct traffic traffic = count_traffic(problem, tried);
    double m = (double)contraction->problem.m, n = (double)contraction->problem.n,
           k = (double)contraction->problem.k;
    double left_bytes = problem->left.is_shared ? 0 : m * k * tile->left.bytes;
    double right_bytes =
        problem->right.is_shared ? 0 : n * k * tile->right.bytes * contraction->problem.products;
    struct kiln_small_work work = {
        .items = problem->products * tried->pipeline.small.row_items *
                 tried->pipeline.small.column_items,
        .block = kiln_small_block(tile->target),
        .bytes = problem->products * (left_bytes + right_bytes + m * n * tile->result_bytes),
        .cache_bytes =
            problem->products * (left_bytes * deliveries(problem, &problem->left, tried) +
                                 right_bytes * deliveries(problem, &problem->right, tried) +
                                 m * n * tile->result_bytes),
        .item_bytes = traffic.bytes,
        .item_operations = count_operations(problem, tried, &traffic),
        .item_registers = tried->pipeline.small.item_rows * tried->pipeline.small.item_columns *
                              contraction->problem.products * tile->sum_bytes / 4 +
                          (tried->pipeline.small.item_rows +
                           tried->pipeline.small.item_columns * contraction->problem.products) *
                              tried->tile.k,
        .steps = (uint32_t)kiln_ceil_div_i64(contraction->problem.k, tried->tile.k),
    };
    /* Large blocks leave fewer waves to hide latency, and the last of them end later. */
    double elements = (double)tried->pipeline.small.item_rows * tried->pipeline.small.item_columns;
    return kiln_model_small_time(tile->target, &work) * (1 + elements / BLOCK_SHARE);
}

/* Chooses few steps of k of equal length. False if a step would take too much text, or too many
 * registers. */
static bool choose_step(const struct small_problem *problem,
                        struct kiln_contraction_schedule *tried)
{
    const struct kiln_tile_problem *tile = problem->tile;
    int64_t rows = tried->pipeline.small.item_rows;
    int64_t columns = (int64_t)tried->pipeline.small.item_columns * tried->problem.products;
    int64_t words = tile->sum_bytes / 4;
    int64_t computed = rows * problem->left.value_cost + columns * problem->right.value_cost;
    int64_t most = MOST_LOADED / ((rows + columns) * words);
    if (most > MOST_PRODUCTS / (rows * columns))
        most = MOST_PRODUCTS / (rows * columns);
    if (computed != 0 && most > MOST_COMPUTED / computed)
        most = MOST_COMPUTED / computed;
    if (most < 1 || rows * columns * words > MOST_SUMS)
        return false;
    tried->tile.k =
        (uint32_t)kiln_ceil_div_i64(tried->problem.k, kiln_ceil_div_i64(tried->problem.k, most));
    /* A step is a whole number of the widest loads along k. */
    uint32_t widest = KILN_ACCESS_BYTES / problem->left.element_bytes;
    if (tried->tile.k > widest && tried->tile.k < tried->problem.k)
        tried->tile.k -= tried->tile.k % widest;
    if (tile->forced->tile_k != 0 && tile->forced->tile_k < tried->tile.k)
        tried->tile.k = tile->forced->tile_k;
    return true;
}

static bool is_within_limits(const struct kiln_tile_problem *tile,
                             const struct kiln_contraction_schedule *tried)
{
    const struct kiln_contraction_options *forced = tile->forced;
    bool is_wanted = forced->tile_m == 0 || (tried->pipeline.small.item_rows == forced->tile_m &&
                                             tried->pipeline.small.item_columns == forced->tile_n);
    uint32_t rows = tile->limits->steps > 1 ? tile->limits->steps : 1;
    return is_wanted && tried->pipeline.small.item_rows <= rows &&
           tried->pipeline.small.item_columns <= tile->limits->vector_elems;
}

bool kiln_choose_small_items(const struct kiln_contraction_problem *problem,
                             const struct kiln_tile_problem *tile)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    if (!has_small_sizes(contraction))
        return false;
    struct small_problem small = {
        .tile = tile,
        .contraction = contraction,
        .left = describe(problem, contraction->left.places[0], false, tile->left.cost),
        .right = describe(problem, contraction->right.places[0], false, tile->right.cost),
        .result = describe(problem, KILN_PLACE_ELEMENT, true, 0),
        .products = (double)tile->batch,
    };
    struct kiln_contraction_schedule tried = *contraction;
    struct kiln_contraction_schedule best = *contraction;
    best.time_ns = 0;
    /* Values of a row are computed by the work-item that has all of it. */
    bool has_whole_rows = kiln_group_has_whole_rows(problem->group);
    uint32_t fewest = has_whole_rows ? (uint32_t)contraction->problem.n : 1;
    if (has_whole_rows)
        tried.ending =
            (struct kiln_ending){.kind = KILN_ENDING_ROWS, .rows = {.parts = 1, .lanes = 1}};
    for (uint32_t rows = 1; rows <= contraction->problem.m; rows++) {
        for (uint32_t columns = fewest; columns <= contraction->problem.n; columns++) {
            if (contraction->problem.m % rows != 0 || contraction->problem.n % columns != 0)
                continue;
            tried.pipeline.small.item_rows = rows;
            tried.pipeline.small.item_columns = columns;
            tried.pipeline.small.row_items = (uint32_t)contraction->problem.m / rows;
            tried.pipeline.small.column_items = (uint32_t)contraction->problem.n / columns;
            if (!is_within_limits(tile, &tried) || !choose_step(&small, &tried) ||
                kiln_count_small_items(&tried) > INT32_MAX)
                continue;
            tried.time_ns = model_time(&small, &tried);
            if (best.time_ns == 0 || tried.time_ns < best.time_ns)
                best = tried;
        }
    }
    best.tile.m = best.pipeline.small.item_rows;
    best.tile.n = best.pipeline.small.item_columns * best.problem.products;
    *contraction = best;
    return best.time_ns != 0;
}

int64_t kiln_count_small_items(const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_small_pipeline *small = &contraction->pipeline.small;
    return (int64_t)small->row_items * small->column_items *
           (int64_t)kiln_batch_count(&contraction->problem.batches);
}

uint32_t kiln_small_block(const struct kiln_target *target)
{
    return target->wave_size == 1 ? HOST_BLOCK : KILN_BLOCK;
}
