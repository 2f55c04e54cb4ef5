#include "compiler/fuse/load_sets.h"

#include "compiler/fuse/fusion_group.h"
#include "compiler/kernel_family.h"

#include <string.h>

/* Sets of a fixed number. */
enum { EMPTY, TOO_MANY, FIXED_SETS };

static uint32_t arity_of(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->arity;
}

static bool find_users(struct kiln_load_sets *sets)
{
    const struct kiln_ir *ir = sets->ir;
    size_t uses = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        uses += arity_of(&ir->ops[i]);
    sets->users = kiln_arena_calloc(sets->arena, uses + 1, sizeof *sets->users);
    if (sets->users == NULL)
        return false;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        for (uint32_t k = 0; k < arity_of(&ir->ops[i]); k++)
            sets->first_user[ir->ops[i].operands[k] + 1]++;
    }
    for (uint32_t i = 0; i < ir->op_count; i++)
        sets->first_user[i + 1] += sets->first_user[i];
    /* Filling moves every begin to its end, which is where the next one began. */
    for (uint32_t i = 0; i < ir->op_count; i++) {
        for (uint32_t k = 0; k < arity_of(&ir->ops[i]); k++)
            sets->users[sets->first_user[ir->ops[i].operands[k]]++] = i;
    }
    memmove(sets->first_user + 1, sets->first_user, ir->op_count * sizeof *sets->first_user);
    sets->first_user[0] = 0;
    return true;
}

bool kiln_load_sets_init(struct kiln_load_sets *sets)
{
    struct kiln_arena *arena = sets->arena;
    uint32_t count = sets->ir->op_count;
    sets->set_of = kiln_arena_calloc(arena, count, sizeof *sets->set_of);
    sets->first_user = kiln_arena_calloc(arena, (size_t)count + 2, sizeof *sets->first_user);
    sets->first_reader = kiln_arena_calloc(arena, count, sizeof *sets->first_reader);
    sets->generation = kiln_arena_calloc(arena, count, sizeof *sets->generation);
    sets->changed = (struct kiln_value_queue){
        .heap = kiln_arena_calloc(arena, count, sizeof *sets->changed.heap),
        .is_in = kiln_arena_calloc(arena, count, sizeof *sets->changed.is_in),
        .is_ascending = true,
    };
    return sets->set_of != NULL && sets->first_user != NULL && sets->first_reader != NULL &&
           sets->generation != NULL && sets->changed.heap != NULL && sets->changed.is_in != NULL &&
           find_users(sets);
}

void kiln_load_sets_reset(struct kiln_load_sets *sets)
{
    sets->set_count = sets->set_capacity == 0 ? 0 : FIXED_SETS;
    sets->member_count = sets->reader_count = sets->placed = 0;
    for (uint32_t i = 0; i < sets->ir->op_count; i++) {
        sets->first_reader[i] = KILN_NONE;
        sets->generation[i] = 0;
    }
}

/* Makes room for `more` items behind `count`. */
static void *reserve(struct kiln_load_sets *sets, void *items, uint32_t count, uint32_t more,
                     uint32_t *capacity, size_t bytes)
{
    if (count + more <= *capacity)
        return items;
    uint32_t grown = *capacity == 0 ? 256 : *capacity;
    while (grown < count + more)
        grown *= 2;
    void *memory = kiln_arena_calloc(sets->arena, grown, bytes);
    if (memory == NULL)
        return NULL;
    if (count != 0)
        memcpy(memory, items, count * bytes);
    *capacity = grown;
    return memory;
}

static bool reserve_set(struct kiln_load_sets *sets, uint32_t members)
{
    void *more_sets = reserve(sets, sets->sets, sets->set_count, FIXED_SETS + 1,
                              &sets->set_capacity, sizeof *sets->sets);
    void *more_members = reserve(sets, sets->members, sets->member_count, members,
                                 &sets->member_capacity, sizeof *sets->members);
    if (more_sets == NULL || more_members == NULL)
        return false;
    sets->sets = more_sets;
    sets->members = more_members;
    if (sets->set_count < FIXED_SETS)
        sets->set_count = FIXED_SETS;
    return true;
}

/* The number of the set that ends where the members end and begins `count` before. */
static uint32_t add_set(struct kiln_load_sets *sets, uint32_t count)
{
    sets->sets[sets->set_count].first = sets->member_count;
    sets->sets[sets->set_count].count = count;
    sets->member_count += count;
    return sets->set_count++;
}

/* Of two sets with members; there is room for one more. */
static uint32_t merge_sets(struct kiln_load_sets *sets, uint32_t left, uint32_t right)
{
    const uint32_t *a = sets->members + sets->sets[left].first;
    const uint32_t *b = sets->members + sets->sets[right].first;
    uint32_t a_count = sets->sets[left].count;
    uint32_t b_count = sets->sets[right].count;
    uint32_t *merged = sets->members + sets->member_count;
    uint32_t count = 0;
    *sets->steps += a_count + b_count;
    for (uint32_t i = 0, j = 0; i < a_count || j < b_count;) {
        bool from_a = j == b_count || (i < a_count && a[i] <= b[j]);
        uint32_t load = from_a ? a[i] : b[j];
        i += i < a_count && a[i] == load;
        j += j < b_count && b[j] == load;
        merged[count++] = load;
    }
    if (count == a_count)
        return left;
    if (count == b_count)
        return right;
    return count > KILN_GROUP_MAX_ACCESSES ? TOO_MANY : add_set(sets, count);
}

/* False when memory is out. */
static bool unite(struct kiln_load_sets *sets, uint32_t *set, uint32_t other)
{
    if (*set == other || other == EMPTY || *set == TOO_MANY)
        return true;
    if (*set == EMPTY || other == TOO_MANY) {
        *set = other;
        return true;
    }
    if (!reserve_set(sets, 2 * KILN_GROUP_MAX_ACCESSES))
        return false;
    *set = merge_sets(sets, *set, other);
    return true;
}

/* What the set of a value has to be now. False when memory is out. */
static bool find_set(struct kiln_load_sets *sets, uint32_t value, uint32_t *ret_set)
{
    const struct kiln_op *op = &sets->ir->ops[value];
    *ret_set = EMPTY;
    (*sets->steps)++;
    if (kiln_op_is_load(op) || sets->cut[value]) {
        if (!reserve_set(sets, 1))
            return false;
        sets->members[sets->member_count] = value;
        *ret_set = add_set(sets, 1);
        return true;
    }
    if (kiln_op_is_source(op) || kiln_op_is_core(op) || sets->reads_memory[value] ||
        op->opcode == KILN_OP_STORE)
        return true;
    /* A smaller operand is computed from smaller loads only. */
    for (uint32_t k = 0; k < arity_of(op); k++) {
        if (sets->ir->ops[op->operands[k]].domain == op->domain &&
            !unite(sets, ret_set, sets->set_of[op->operands[k]]))
            return false;
    }
    return true;
}

bool kiln_load_sets_place(struct kiln_load_sets *sets, uint32_t value)
{
    sets->placed = value + 1;
    return find_set(sets, value, &sets->set_of[value]);
}

struct kiln_load_set kiln_load_set_of(const struct kiln_load_sets *sets, uint32_t value)
{
    uint32_t set = sets->set_of[value];
    if (set < FIXED_SETS)
        return (struct kiln_load_set){NULL, set == EMPTY ? 0 : UINT32_MAX};
    return (struct kiln_load_set){sets->members + sets->sets[set].first, sets->sets[set].count};
}

bool kiln_load_sets_add_reader(struct kiln_load_sets *sets, uint32_t op)
{
    struct kiln_load_set set = kiln_load_set_of(sets, sets->ir->ops[op].operands[0]);
    sets->generation[op]++;
    for (uint32_t i = 0; set.loads != NULL && i < set.count; i++) {
        void *more = reserve(sets, sets->readers, sets->reader_count, 1, &sets->reader_capacity,
                             sizeof *sets->readers);
        if (more == NULL)
            return false;
        sets->readers = more;
        uint32_t load = set.loads[i];
        sets->readers[sets->reader_count] = (struct kiln_load_reader){
            .op = op,
            .generation = sets->generation[op],
            .next = sets->first_reader[load],
        };
        sets->first_reader[load] = sets->reader_count++;
        (*sets->steps)++;
    }
    return true;
}

bool kiln_load_reader_is_valid(const struct kiln_load_sets *sets,
                               const struct kiln_load_reader *reader)
{
    return sets->generation[reader->op] == reader->generation;
}

static bool is_same_set(const struct kiln_load_sets *sets, uint32_t a, uint32_t b)
{
    if (a == b || a < FIXED_SETS || b < FIXED_SETS)
        return a == b;
    return sets->sets[a].count == sets->sets[b].count &&
           memcmp(sets->members + sets->sets[a].first, sets->members + sets->sets[b].first,
                  sets->sets[a].count * sizeof *sets->members) == 0;
}

static void add_users(struct kiln_load_sets *sets, uint32_t value)
{
    for (uint32_t i = sets->first_user[value]; i < sets->first_user[value + 1]; i++) {
        (*sets->steps)++;
        if (sets->users[i] < sets->placed)
            kiln_value_queue_add(&sets->changed, sets->users[i]);
    }
}

bool kiln_load_sets_cut(struct kiln_load_sets *sets, uint32_t value)
{
    sets->cut[value] = true;
    bool good = find_set(sets, value, &sets->set_of[value]);
    add_users(sets, value);
    while (sets->changed.count != 0) {
        uint32_t user = kiln_value_queue_take(&sets->changed);
        uint32_t set = EMPTY;
        if (sets->generation[user] != 0)
            good = good && kiln_load_sets_add_reader(sets, user);
        good = good && find_set(sets, user, &set);
        if (!good || is_same_set(sets, set, sets->set_of[user]))
            continue;
        sets->set_of[user] = set;
        add_users(sets, user);
    }
    return good;
}
