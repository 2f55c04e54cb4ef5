#include "compiler/fuse/drafts.h"

#include "compiler/fuse/closure.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"

#include <string.h>

bool kiln_drafting_init(struct kiln_drafting *drafting, const struct kiln_group_builder *builder)
{
    /* At most two clusters per core operation, and items as counted in kiln_group_builder_init.
     * Levels and domains are no more than that either: an operation adds two levels at most. */
    size_t most = 2 * (size_t)builder->ir->op_count + 1;
    size_t domains = builder->ir->domain_count;
    size_t slots = 16;
    while (slots < 2 * most)
        slots *= 2;
    struct kiln_arena *arena = builder->arena;
    *drafting = (struct kiln_drafting){
        .drafts = kiln_arena_calloc(arena, 2 * most, sizeof *drafting->drafts),
        .slots = kiln_arena_calloc(arena, slots, sizeof *drafting->slots),
        .slot_mask = (uint32_t)(slots - 1),
    };
    struct {
        uint32_t **array;
        size_t count;
    } arrays[] = {
        {&drafting->draft_of, most},
        {&drafting->items, most},
        {&drafting->first_item, 2 * most + 1},
        {&drafting->draft_of_cluster, most},
        {&drafting->first_of, most > domains ? most + 1 : domains + 1},
        {&drafting->next, most},
        {&drafting->head, 2 * most},
        {&drafting->sibling, 2 * most},
    };
    bool good = drafting->drafts != NULL && drafting->slots != NULL;
    for (size_t i = 0; good && i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].array = kiln_arena_calloc(arena, arrays[i].count, sizeof **arrays[i].array);
        good = *arrays[i].array != NULL;
    }
    return good;
}

/* ---- making drafts ---- */

static void collect_items(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    builder->item_count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        struct kiln_group_item item = {.value = i, .store = builder->store_op[i]};
        if (builder->needed[i] && item.store == KILN_NONE)
            builder->items[builder->item_count++] = item;
        for (; item.store != KILN_NONE; item.store = builder->next_store[item.store])
            builder->items[builder->item_count++] = item;
        for (item.store = builder->packed_store[i]; item.store != KILN_NONE;
             item.store = builder->next_store[item.store])
            builder->items[builder->item_count++] = item;
    }
}

static void draft_clusters(const struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    for (uint32_t i = 0; i < builder->cluster_count; i++) {
        const struct kiln_cluster *cluster = &builder->clusters[i];
        if (cluster->merged_into != KILN_NONE)
            continue;
        drafting->draft_of_cluster[i] = drafting->count;
        drafting->drafts[drafting->count] = (struct kiln_group_draft){
            .cluster = i,
            .domain = cluster->domain,
            .level = cluster->level,
            .number = drafting->count,
            .first_value = cluster->first_core,
            .packed_tensor = KILN_NONE,
        };
        drafting->count++;
    }
}

/* Where the number of the draft without a cluster of a domain and level is, plus 1; 0: where to put
 * it. */
static uint32_t *find_slot(struct kiln_drafting *drafting, uint32_t domain, uint32_t level)
{
    uint64_t hash = ((uint64_t)domain << 32 | level) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(hash >> 32) & drafting->slot_mask;
    for (; drafting->slots[slot] != 0; slot = (slot + 1) & drafting->slot_mask) {
        const struct kiln_group_draft *draft = &drafting->drafts[drafting->slots[slot] - 1];
        if (draft->domain == domain && draft->level == level)
            break;
    }
    return &drafting->slots[slot];
}

static uint32_t item_level(const struct kiln_group_builder *builder,
                           const struct kiln_group_item *item)
{
    return kiln_item_is_packed(builder, item) ? builder->level[item->store]
                                              : kiln_value_level(builder, item->value);
}

static uint32_t add_draft(const struct kiln_group_builder *builder, struct kiln_drafting *drafting,
                          const struct kiln_group_item *item)
{
    drafting->drafts[drafting->count] =
        (struct kiln_group_draft){.cluster = KILN_NONE,
                                  .number = drafting->count,
                                  .domain = builder->ir->ops[item->value].domain,
                                  .level = item_level(builder, item),
                                  .first_value = item->value,
                                  .packed_tensor = KILN_NONE};
    return drafting->count++;
}

/* True if two packed tensors have their elements in one order, so that a walk in this order stores
 * whole bytes of both. */
static bool lies_as(const struct kiln_tensor *a, const struct kiln_tensor *b)
{
    for (uint32_t i = 0; i < a->rank && i < b->rank; i++) {
        if (a->strides[a->rank - 1 - i] != b->strides[b->rank - 1 - i])
            return false;
    }
    return true;
}

/* The draft of an item that is stored to a packed tensor. Items of one domain and level share a
 * draft, unless their packed tensors have different layouts. */
static uint32_t find_packed_draft(const struct kiln_group_builder *builder,
                                  struct kiln_drafting *drafting,
                                  const struct kiln_group_item *item)
{
    const struct kiln_tensor *tensors = builder->graph->tensors;
    uint32_t tensor = builder->ir->ops[item->store].tensor;
    uint32_t found = KILN_NONE;
    if (!builder->options->no_fusion) {
        uint32_t *slot =
            find_slot(drafting, builder->ir->ops[item->value].domain, builder->level[item->store]);
        if (*slot == 0)
            *slot = add_draft(builder, drafting, item) + 1;
        found = *slot - 1;
        uint32_t other = drafting->drafts[found].packed_tensor;
        if (other != KILN_NONE && !lies_as(&tensors[tensor], &tensors[other]))
            found = KILN_NONE;
    }
    if (found == KILN_NONE)
        found = add_draft(builder, drafting, item);
    drafting->drafts[found].packed_tensor = tensor;
    return found;
}

/* An item's draft: of its cluster; else of its domain and level; without fusion, of its value
 * alone.
 */
static uint32_t find_draft(const struct kiln_group_builder *builder, struct kiln_drafting *drafting,
                           uint32_t index)
{
    const struct kiln_group_item *item = &builder->items[index];
    uint32_t cluster = kiln_cluster_of(builder, item->value);
    if (kiln_item_is_packed(builder, item) && builder->cluster[item->store] == KILN_NONE)
        return find_packed_draft(builder, drafting, item);
    if (cluster != KILN_NONE)
        return drafting->draft_of_cluster[cluster];
    if (builder->options->no_fusion) {
        bool again =
            index != 0 && item[-1].value == item->value && !kiln_item_is_packed(builder, &item[-1]);
        return again ? drafting->draft_of[index - 1] : add_draft(builder, drafting, item);
    }
    uint32_t *slot = find_slot(drafting, builder->ir->ops[item->value].domain,
                               kiln_value_level(builder, item->value));
    if (*slot == 0)
        *slot = add_draft(builder, drafting, item) + 1;
    return *slot - 1;
}

/* Lists the items of every draft, ascending. */
static void list_items(const struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < drafting->count; i++) {
        drafting->first_item[i] = begin;
        begin += drafting->drafts[i].item_count;
    }
    for (uint32_t i = 0; i < builder->item_count; i++)
        drafting->items[drafting->first_item[drafting->draft_of[i]]++] = i;
    for (uint32_t i = drafting->count; i > 0; i--)
        drafting->first_item[i] = drafting->first_item[i - 1];
    drafting->first_item[0] = 0;
}

static void make_drafts(struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    drafting->count = 0;
    memset(drafting->slots, 0, ((size_t)drafting->slot_mask + 1) * sizeof *drafting->slots);
    collect_items(builder);
    draft_clusters(builder, drafting);
    for (uint32_t i = 0; i < builder->item_count; i++) {
        drafting->draft_of[i] = find_draft(builder, drafting, i);
        drafting->drafts[drafting->draft_of[i]].item_count++;
    }
    list_items(builder, drafting);
    builder->steps += builder->ir->op_count;
}

const uint32_t *kiln_draft_items(const struct kiln_drafting *drafting, uint32_t number)
{
    return drafting->items + drafting->first_item[number];
}

/* ---- items ride along ---- */

static void move_item(struct kiln_drafting *drafting, uint32_t item, uint32_t draft)
{
    drafting->drafts[drafting->draft_of[item]].item_count--;
    drafting->drafts[draft].item_count++;
    drafting->draft_of[item] = draft;
}

/* True if the kernel of the last closure loads something of the value's size that the value is
 * computed from. */
static bool shares_load(const struct kiln_group_builder *builder, uint32_t value)
{
    struct kiln_load_set set = kiln_load_set_of(&builder->load_sets, value);
    for (uint32_t i = 0; set.loads != NULL && i < set.count; i++) {
        if (kiln_closure_loads(builder, set.loads[i]))
            return true;
    }
    return false;
}

/* True if a cluster's kernel could store the item of a draft without a cluster. The kernel walks
 * over the item's elements (or rows), late enough to compute the item and early enough for its
 * readers. */
static bool could_ride_along(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster,
                             const struct kiln_group_draft *draft, uint32_t value)
{
    const struct kiln_fuse_family *family = kiln_fuse_family(cluster->family);
    return family->may_ride_along && draft->cluster == KILN_NONE &&
           (builder->load_kinds[value] & ~family->load_kinds) == 0 &&
           draft->level <= cluster->level && builder->first_reader[value] > cluster->level;
}

/* Lists the items without a cluster of every domain, ascending. */
static void list_by_domain(const struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    for (uint32_t i = 0; i < builder->ir->domain_count; i++)
        drafting->first_of[i] = KILN_NONE;
    for (uint32_t i = builder->item_count; i-- > 0;) {
        const struct kiln_group_draft *draft = &drafting->drafts[drafting->draft_of[i]];
        if (draft->cluster != KILN_NONE)
            continue;
        drafting->next[i] = drafting->first_of[draft->domain];
        drafting->first_of[draft->domain] = i;
    }
}

/* Moves items without one into the kernel of a cluster that computes them anyway, or loads what
 * they are computed from. */
static void absorb_into_cluster(struct kiln_group_builder *builder, struct kiln_drafting *drafting,
                                uint32_t target)
{
    const struct kiln_group_draft *draft = &drafting->drafts[target];
    const struct kiln_cluster *cluster = &builder->clusters[draft->cluster];
    bool has_rows = cluster->role != KILN_ROLE_PARTIAL && cluster->row_domain != cluster->domain;
    uint32_t none = KILN_NONE;
    uint32_t *elements = &drafting->first_of[cluster->domain];
    uint32_t *rows = has_rows ? &drafting->first_of[cluster->row_domain] : &none;
    bool has_closure = false;
    bool fits = true;
    while (fits && (*elements != KILN_NONE || *rows != KILN_NONE)) {
        bool is_row = *rows < *elements;
        uint32_t **link = is_row ? &rows : &elements;
        uint32_t index = **link;
        const struct kiln_group_item *item = &builder->items[index];
        builder->steps++;
        if (drafting->drafts[drafting->draft_of[index]].cluster != KILN_NONE ||
            kiln_item_is_packed(builder, item)) {
            **link = drafting->next[index];
            continue;
        }
        *link = &drafting->next[index];
        if (!could_ride_along(builder, cluster, &drafting->drafts[drafting->draft_of[index]],
                              item->value))
            continue;
        if (!has_closure)
            fits = kiln_closure_begin(builder, draft->cluster, kiln_draft_items(drafting, target),
                                      draft->item_count, KILN_GROUP_MAX_OPS);
        has_closure = true;
        if (!fits || (!kiln_group_computes(builder, item->value) &&
                      (is_row || !shares_load(builder, item->value))))
            continue;
        move_item(drafting, index, target);
        fits = kiln_closure_add(builder, item, KILN_GROUP_MAX_OPS);
    }
}

static void absorb_into_clusters(struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    list_by_domain(builder, drafting);
    for (uint32_t i = 0; i < drafting->count && kiln_may_go_on(builder); i++) {
        uint32_t cluster = drafting->drafts[i].cluster;
        if (cluster != KILN_NONE && !builder->clusters[cluster].is_closed)
            absorb_into_cluster(builder, drafting, i);
    }
}

/* True if a draft could take in another's items, of the same level: its domain is larger and
 * reached by repeating the other's. */
static bool could_absorb(const struct kiln_ir *ir, const struct kiln_group_draft *large,
                         const struct kiln_group_draft *small)
{
    const struct kiln_domain *from = &ir->domains[small->domain];
    const struct kiln_domain *to = &ir->domains[large->domain];
    return large->domain != small->domain && kiln_domain_broadcasts_to(from, to) &&
           (ir->is_general || kiln_domain_elements(from) < kiln_domain_elements(to));
}

/* Lists the drafts without a cluster of every level, and their items. */
static void list_by_level(const struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    for (uint32_t i = 0; i < drafting->count; i++) {
        drafting->head[i] = KILN_NONE;
        if (drafting->drafts[i].cluster == KILN_NONE)
            drafting->first_of[drafting->drafts[i].level] = KILN_NONE;
    }
    for (uint32_t i = drafting->count; i-- > 0;) {
        uint32_t level = drafting->drafts[i].level;
        if (drafting->drafts[i].cluster != KILN_NONE)
            continue;
        drafting->sibling[i] = drafting->first_of[level];
        drafting->first_of[level] = i;
    }
    for (uint32_t i = builder->item_count; i-- > 0;) {
        uint32_t draft = drafting->draft_of[i];
        drafting->next[i] = drafting->head[draft];
        drafting->head[draft] = i;
    }
}

/* Begins the closure of a draft whose items are moving. */
static void close_draft(struct kiln_group_builder *builder, struct kiln_drafting *drafting,
                        uint32_t draft)
{
    uint32_t count = 0;
    for (uint32_t i = drafting->head[draft]; i != KILN_NONE; i = drafting->next[i])
        drafting->items[count++] = i;
    (void)kiln_closure_begin(builder, KILN_NONE, drafting->items, count, UINT32_MAX);
}

/* Moves items of a smaller domain into the group of the last closure when that computes them. */
static void absorb_draft(struct kiln_group_builder *builder, struct kiln_drafting *drafting,
                         uint32_t small, uint32_t large)
{
    for (uint32_t *link = &drafting->head[small]; *link != KILN_NONE;) {
        uint32_t item = *link;
        builder->steps++;
        if (kiln_item_is_packed(builder, &builder->items[item]) ||
            !kiln_group_computes(builder, builder->items[item].value)) {
            link = &drafting->next[item];
            continue;
        }
        *link = drafting->next[item];
        drafting->next[item] = drafting->head[large];
        drafting->head[large] = item;
        move_item(drafting, item, large);
    }
}

/* Moves items of smaller domains into a larger group that computes them anyway. */
static void absorb_small_domains(struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    list_by_level(builder, drafting);
    for (uint32_t large = 0; large < drafting->count && kiln_may_go_on(builder); large++) {
        const struct kiln_group_draft *draft = &drafting->drafts[large];
        if (draft->cluster != KILN_NONE || draft->item_count == 0)
            continue;
        bool has_closure = false;
        for (uint32_t small = drafting->first_of[draft->level]; small != KILN_NONE;
             small = drafting->sibling[small]) {
            builder->steps++;
            if (drafting->drafts[small].item_count == 0 ||
                !could_absorb(builder->ir, draft, &drafting->drafts[small]))
                continue;
            if (!has_closure)
                close_draft(builder, drafting, large);
            has_closure = true;
            absorb_draft(builder, drafting, small, large);
        }
    }
}

void kiln_draft_groups(struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    make_drafts(builder, drafting);
    if (builder->options->no_fusion)
        return;
    absorb_into_clusters(builder, drafting);
    absorb_small_domains(builder, drafting);
    list_items(builder, drafting);
}
