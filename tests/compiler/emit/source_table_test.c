/* Texts of kernels: equal ones are one, others are kept apart, however many there are. */
#include "compiler/emit/source_table.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct kiln_arena arena;

static void set_up(void)
{
    kiln_arena_init(&arena);
}

static void tear_down(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(source_table, .init = set_up, .fini = tear_down);

static const char *add(struct kiln_source_table *table, const char *symbol, const char *text)
{
    struct kiln_buffer source;
    const char *kept_symbol = NULL;
    const char *kept = NULL;
    kiln_buffer_init(&source);
    kiln_buffer_append_text(&source, text);
    cr_assert(kiln_source_table_add(table, &arena, symbol, &source, &kept_symbol, &kept));
    kiln_buffer_fini(&source);
    cr_expect_str_eq(kept_symbol, symbol);
    cr_expect_str_eq(kept, text);
    return kept;
}

Test(source_table, equal_texts_are_one)
{
    struct kiln_source_table table = {0};
    const char *first = add(&table, "kiln_a_1", "first");
    cr_expect_eq(add(&table, "kiln_a_1", "first"), first);
    cr_expect_neq(add(&table, "kiln_a_2", "second"), first);
    cr_expect_neq(add(&table, "kiln_a_1", "another of the same name"), first);
    cr_expect_eq(table.count, 3);
}

Test(source_table, many_texts_are_found_again)
{
    enum { TEXTS = 1000 };
    struct kiln_source_table table = {0};
    const char *kept[TEXTS];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < TEXTS; i++) {
            char symbol[32], text[32];
            (void)snprintf(symbol, sizeof symbol, "kiln_x_%u", i);
            (void)snprintf(text, sizeof text, "text %u", i);
            const char *found = add(&table, symbol, text);
            cr_expect(round == 0 || found == kept[i]);
            kept[i] = found;
        }
    }
    cr_expect_eq(table.count, TEXTS);
}

Test(source_table, without_a_table_each_kernel_has_its_own)
{
    const char *first = add(NULL, "kiln_a_1", "first");
    cr_expect_neq(add(NULL, "kiln_a_1", "first"), first);
}
