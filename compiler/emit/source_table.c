#include "compiler/emit/source_table.h"

#include "runtime/support/hash.h"

#include <string.h>

static struct kiln_source_entry *find_slot(const struct kiln_source_table *table,
                                           const char *symbol, const char *source)
{
    uint32_t mask = table->slot_count - 1;
    uint32_t slot = (uint32_t)kiln_hash64(symbol, strlen(symbol)) & mask;
    while (table->slots[slot].symbol != NULL && (strcmp(table->slots[slot].symbol, symbol) != 0 ||
                                                 strcmp(table->slots[slot].source, source) != 0))
        slot = (slot + 1) & mask;
    return &table->slots[slot];
}

/* Doubles a table that is more than half full. */
static bool make_room(struct kiln_source_table *table, struct kiln_arena *arena)
{
    enum { FIRST_SLOTS = 16 };
    if (2 * table->count < table->slot_count)
        return true;
    struct kiln_source_table grown = {
        .slot_count = table->slot_count == 0 ? FIRST_SLOTS : 2 * table->slot_count,
        .count = table->count,
    };
    grown.slots = kiln_arena_calloc(arena, grown.slot_count, sizeof *grown.slots);
    if (grown.slots == NULL)
        return false;
    for (uint32_t i = 0; i < table->slot_count; i++) {
        const struct kiln_source_entry *entry = &table->slots[i];
        if (entry->symbol != NULL)
            *find_slot(&grown, entry->symbol, entry->source) = *entry;
    }
    *table = grown;
    return true;
}

bool kiln_source_table_add(struct kiln_source_table *table, struct kiln_arena *arena,
                           const char *symbol, const struct kiln_buffer *source,
                           const char **ret_symbol, const char **ret_source)
{
    struct kiln_source_entry own = {0};
    struct kiln_source_entry *entry = &own;
    if (table != NULL && !make_room(table, arena))
        return false;
    if (table != NULL)
        entry = find_slot(table, symbol, kiln_buffer_text(source));
    if (entry->symbol == NULL) {
        own.symbol = kiln_arena_strndup(arena, symbol, strlen(symbol));
        own.source = kiln_arena_strndup(arena, source->data, source->size);
        if (own.symbol == NULL || own.source == NULL)
            return false;
        *entry = own;
        if (table != NULL)
            table->count++;
    }
    *ret_symbol = entry->symbol;
    *ret_source = entry->source;
    return true;
}
