/*
 * Requirements that the cut is chosen by:
 *   1. every group gets at least one operation or store, and the rest has that many fewer: it ends;
 *   2. no group exceeds KILN_GROUP_MAX_*, whatever the graph: one operation alone never does (three
 * operands, and a value with many stores is stored to most of them by groups of copies behind the
 * others);
 *   3. within the registers where possible, and then as few bytes as possible from one group to the
 * next.
 */
#include "compiler/fuse/split_group.h"

#include "compiler/fuse/append_group.h"
#include "compiler/fuse/closure.h"
#include "compiler/fuse/op_cost.h"

#include <string.h>

enum {
    STORES_OF_A_VALUE = 32,                          /* more go to groups of copies */
    COPIES_OF_A_GROUP = KILN_GROUP_MAX_ACCESSES / 2, /* each may have a load of its own */
};

/* Constants and indices are made again wherever they are needed, and broadcasts are free. */
static bool is_arithmetic(const struct kiln_group_builder *builder, uint32_t value)
{
    return !builder->is_load[value] &&
           kiln_opcode_info(builder->ir->ops[value].opcode)->op_class == KILN_OP_CLASS_ELEMENTWISE;
}

bool kiln_splitter_init(struct kiln_splitter *splitter, struct kiln_group_builder *builder)
{
    uint32_t count = builder->ir->op_count;
    struct kiln_arena *arena = builder->arena;
    *splitter = (struct kiln_splitter){
        .builder = builder,
        .uses = kiln_arena_calloc(arena, count, sizeof *splitter->uses),
        .accesses = kiln_arena_calloc(arena, count, sizeof *splitter->accesses),
        .bytes = kiln_arena_calloc(arena, count, sizeof *splitter->bytes),
        .items = kiln_arena_calloc(arena, count, sizeof *splitter->items),
        .front = kiln_arena_calloc(arena, count, sizeof *splitter->front),
        .copies = kiln_arena_calloc(arena, count, sizeof *splitter->copies),
        .cut = kiln_arena_calloc(arena, count, sizeof *splitter->cut),
    };
    return splitter->uses != NULL && splitter->accesses != NULL && splitter->bytes != NULL &&
           splitter->items != NULL && splitter->front != NULL && splitter->copies != NULL &&
           splitter->cut != NULL;
}

static int32_t crossing_bytes(const struct kiln_group_builder *builder, uint32_t domain,
                              uint32_t value)
{
    if (builder->ir->ops[value].domain != domain)
        return 1;
    return kiln_dtype_info(kiln_value_dtype(builder, value))->bytes;
}

/* What a group is there for: arithmetic, and stores. */
static bool is_work(const struct kiln_splitter *splitter, uint32_t value)
{
    return splitter->uses[value].stores != 0 || is_arithmetic(splitter->builder, value);
}

/* Fills `uses` for the last closure, which stores splitter->items. */
static void find_uses(struct kiln_splitter *splitter)
{
    const struct kiln_group_builder *builder = splitter->builder;
    struct kiln_value_uses *uses = splitter->uses;
    for (uint32_t i = 0; i < builder->op_count; i++)
        uses[builder->ops[i]] = (struct kiln_value_uses){.first = KILN_NONE};
    for (uint32_t i = 0; i < splitter->item_count; i++) {
        const struct kiln_group_item *item = &builder->items[splitter->items[i]];
        uses[item->value].stores++;
        uses[item->value].has_home |= kiln_item_is_home(builder, item);
    }
    /* Upwards from the last operation: a broadcast's users are known before its operand asks for
     * them. */
    for (uint32_t i = builder->op_count; i-- > 0;) {
        uint32_t value = builder->ops[i];
        const struct kiln_op *op = &builder->ir->ops[value];
        bool repeats = op->opcode == KILN_OP_BROADCAST && uses[value].last > i;
        uint32_t last = repeats ? uses[value].last : i;
        if (builder->is_load[value])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            struct kiln_value_uses *operand = &uses[op->operands[k]];
            operand->first = i;
            operand->last = last > operand->last ? last : operand->last;
        }
    }
}

static void find_differences(struct kiln_splitter *splitter, uint32_t domain)
{
    const struct kiln_group_builder *builder = splitter->builder;
    for (uint32_t i = 0; i < builder->op_count; i++)
        splitter->accesses[i] = splitter->bytes[i] = 0;
    for (uint32_t i = 0; i < builder->op_count; i++) {
        uint32_t value = builder->ops[i];
        const struct kiln_value_uses *uses = &splitter->uses[value];
        splitter->accesses[i] += (int32_t)uses->stores;
        if (builder->is_load[value])
            splitter->accesses[uses->stores != 0 ? i : uses->first]++;
        if (!is_arithmetic(builder, value) || uses->last <= i)
            continue;
        int32_t bytes = crossing_bytes(builder, domain, value);
        splitter->bytes[i] += bytes;
        splitter->bytes[uses->last] -= bytes;
        splitter->accesses[i] += !uses->has_home;
        splitter->accesses[uses->last] -= !uses->has_home;
    }
}

/* The closure up to a position. */
struct prefix {
    uint32_t position;
    uint32_t work;
    int32_t accesses;
    int32_t bytes;
};

static void extend(const struct kiln_splitter *splitter, uint32_t position, struct prefix *prefix)
{
    prefix->position = position;
    prefix->work += is_work(splitter, splitter->builder->ops[position]);
    prefix->accesses += splitter->accesses[position];
    prefix->bytes += splitter->bytes[position];
}

/*
 * Where to cut the last closure: among the positions in the second half (counted in work) of the
 * longest prefix that fits, the one that the fewest bytes cross; behind the first work when nothing
 * fits.
 */
static uint32_t choose_position(const struct kiln_splitter *splitter)
{
    const struct kiln_group_builder *builder = splitter->builder;
    uint32_t limit = 0; /* prefixes up to this length fit the registers and the compiler's time */
    uint32_t cost = 0;
    while (limit + 1 < builder->op_count && limit < KILN_GROUP_MAX_OPS &&
           builder->live[limit] <= kiln_register_budget(builder->target)) {
        if (!builder->is_load[builder->ops[limit]])
            cost += kiln_op_cost(&builder->ir->ops[builder->ops[limit]]);
        if (cost > KILN_GROUP_MAX_COST)
            break;
        limit++;
    }
    struct prefix longest = {0};
    struct prefix prefix = {0};
    for (uint32_t i = 0; i < limit; i++) {
        extend(splitter, i, &prefix);
        if (prefix.accesses <= KILN_GROUP_MAX_ACCESSES)
            longest = prefix;
    }
    struct prefix best = {.bytes = INT32_MAX};
    prefix = (struct prefix){0};
    for (uint32_t i = 0; i < limit; i++) {
        extend(splitter, i, &prefix);
        if (prefix.accesses <= KILN_GROUP_MAX_ACCESSES && prefix.work != 0 &&
            prefix.work >= (longest.work + 1) / 2 && prefix.bytes <= best.bytes)
            best = prefix;
    }
    if (best.bytes != INT32_MAX)
        return best.position;
    uint32_t first = 0;
    while (!is_work(splitter, builder->ops[first]))
        first++;
    return first;
}

static void cut_value(struct kiln_splitter *splitter, uint32_t value)
{
    if (splitter->builder->cut[value])
        return;
    splitter->builder->cut[value] = true;
    splitter->cut[splitter->cut_count++] = value;
}

/* Appends the closure up to `position` as a group; leaves in splitter->items what is still to be
 * stored. */
static bool append_front(struct kiln_splitter *splitter, uint32_t domain,
                         enum kiln_boundary boundary, uint32_t position)
{
    struct kiln_group_builder *builder = splitter->builder;
    uint32_t item_count = builder->item_count;
    uint32_t front_count = 0;
    uint32_t rest_count = 0;
    for (uint32_t i = 0; i < splitter->item_count; i++) {
        if (builder->items[splitter->items[i]].value <= builder->ops[position])
            splitter->front[front_count++] = splitter->items[i];
        else
            splitter->items[rest_count++] = splitter->items[i];
    }
    splitter->item_count = rest_count;
    for (uint32_t i = 0; i <= position; i++) {
        uint32_t value = builder->ops[i];
        if (!is_arithmetic(builder, value) || splitter->uses[value].last <= position)
            continue;
        cut_value(splitter, value);
        if (splitter->uses[value].has_home)
            continue;
        builder->items[builder->item_count] =
            (struct kiln_group_item){.value = value, .store = builder->store_op[value]};
        splitter->front[front_count++] = builder->item_count++;
    }
    bool good = kiln_group_append(builder, domain, boundary, splitter->front, front_count);
    builder->item_count = item_count;
    return good;
}

/* Sets the stores of a value beyond STORES_OF_A_VALUE aside; they will read the value from its
 * home. */
static void set_copies_aside(struct kiln_splitter *splitter)
{
    const struct kiln_group_item *items = splitter->builder->items;
    uint32_t kept = 0;
    uint32_t stores = 0;
    splitter->copy_count = 0;
    for (uint32_t i = 0; i < splitter->item_count; i++) {
        uint32_t item = splitter->items[i];
        bool again = kept != 0 && items[splitter->items[kept - 1]].value == items[item].value;
        stores = again ? stores + 1 : 1;
        if (stores <= STORES_OF_A_VALUE) {
            splitter->items[kept++] = item;
            continue;
        }
        cut_value(splitter, items[item].value);
        splitter->copies[splitter->copy_count++] = item;
    }
    splitter->item_count = kept;
}

static uint32_t copy_domain(const struct kiln_splitter *splitter, uint32_t copy)
{
    const struct kiln_group_builder *builder = splitter->builder;
    return builder->ir->ops[builder->items[splitter->copies[copy]].value].domain;
}

/* Appends what set_copies_aside left out; then the cuts hold no longer. */
static bool append_copies(struct kiln_splitter *splitter)
{
    bool good = true;
    uint32_t next = 0;
    for (uint32_t done = 0; good && done < splitter->copy_count; done = next) {
        uint32_t domain = copy_domain(splitter, done);
        while (next < splitter->copy_count && next - done < COPIES_OF_A_GROUP &&
               copy_domain(splitter, next) == domain)
            next++;
        good = kiln_group_append(splitter->builder, domain, KILN_BOUNDARY_SIZE,
                                 splitter->copies + done, next - done);
    }
    for (uint32_t i = 0; i < splitter->cut_count; i++)
        splitter->builder->cut[splitter->cut[i]] = false;
    return good;
}

static void begin(struct kiln_splitter *splitter, const uint32_t *items, uint32_t item_count)
{
    memcpy(splitter->items, items, item_count * sizeof *items);
    splitter->item_count = item_count;
    splitter->cut_count = 0;
    set_copies_aside(splitter);
}

bool kiln_group_split_append(struct kiln_splitter *splitter, uint32_t domain,
                             enum kiln_boundary boundary, const uint32_t *items,
                             uint32_t item_count)
{
    struct kiln_group_builder *builder = splitter->builder;
    begin(splitter, items, item_count);
    if (splitter->copy_count != 0 && boundary == kiln_family_boundary(KILN_FAMILY_FIRST))
        boundary = KILN_BOUNDARY_SIZE;
    bool good = true;
    while (kiln_may_go_on(builder)) {
        kiln_group_closure(builder, KILN_NONE, splitter->items, splitter->item_count);
        find_uses(splitter);
        uint32_t work = 0;
        for (uint32_t i = 0; i < builder->op_count; i++)
            work += is_work(splitter, builder->ops[i]);
        enum kiln_boundary reason;
        if (!kiln_group_exceeds_limits(builder, splitter->item_count, &reason) || work < 2) {
            good =
                kiln_group_append(builder, domain, boundary, splitter->items, splitter->item_count);
            break;
        }
        /* Then another kernel has its shape: the one with the rest. */
        if (boundary == kiln_family_boundary(KILN_FAMILY_FIRST))
            boundary = reason;
        find_differences(splitter, domain);
        good = append_front(splitter, domain, boundary, choose_position(splitter));
        if (!good)
            break;
        boundary = reason;
    }
    return append_copies(splitter) && good && kiln_may_go_on(builder);
}

bool kiln_group_append_with_copies(struct kiln_splitter *splitter, uint32_t cluster,
                                   enum kiln_boundary boundary, const uint32_t *items,
                                   uint32_t item_count)
{
    begin(splitter, items, item_count);
    return kiln_group_append_cluster(splitter->builder, cluster, boundary, splitter->items,
                                     splitter->item_count) &&
           append_copies(splitter);
}
