#include "plugin_api/slot_table.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

struct thing {
    struct kiln_slot slot;
    char payload[41];
};

static struct kiln_slot_table table = KILN_SLOT_TABLE_INITIALIZER(struct thing);

static struct thing *make(void)
{
    struct thing *thing = kiln_slot_table_take(&table);
    cr_assert_not_null(thing);
    cr_expect_not(kiln_slot_table_contains(&table, thing), "not before it is published");
    kiln_slot_publish(thing);
    return thing;
}

Test(slot_table, knows_its_objects_and_nothing_else)
{
    cr_expect_not(kiln_slot_table_contains(&table, NULL));
    struct thing *thing = make();
    cr_expect(kiln_slot_table_contains(&table, thing));
    cr_expect_not(kiln_slot_table_contains(&table, (char *)thing + 8));
    cr_expect_not(kiln_slot_table_contains(&table, thing + 1));
    cr_expect_not(kiln_slot_table_contains(&table, &table));
    cr_expect_not(kiln_slot_table_contains(&table, (const void *)(uintptr_t)1));
    cr_expect_not(kiln_slot_table_contains(&table, (const void *)UINTPTR_MAX));
    cr_expect(kiln_slot_retract(thing));
    cr_expect_not(kiln_slot_retract(thing), "only once");
    cr_expect_not(kiln_slot_table_contains(&table, thing));
    kiln_slot_table_give_back(&table, thing);
    cr_expect_not(kiln_slot_table_contains(&table, thing));
    kiln_slot_table_fini(&table);
    cr_expect_not(kiln_slot_table_contains(&table, thing));
}

Test(slot_table, grows_and_reuses)
{
    enum { COUNT = 64 + 128 + 256 }; /* fills every chunk */
    static struct thing *things[COUNT];
    for (int i = 0; i < COUNT; i++) {
        things[i] = make();
        for (size_t j = 0; j < sizeof(things[i]->payload); j++)
            cr_assert_eq(things[i]->payload[j], 0);
        memset(things[i]->payload, 0xff, sizeof(things[i]->payload));
    }
    for (int i = 0; i < COUNT; i++)
        cr_expect(kiln_slot_table_contains(&table, things[i]));
    kiln_slot_retract(things[123]);
    kiln_slot_table_give_back(&table, things[123]);
    struct thing *again = make();
    cr_expect_eq(again, things[123]);
    cr_expect_eq(again->payload[0], 0);
    kiln_slot_table_fini(&table);
}

Test(slot_table, retracts_all_in_one_walk)
{
    enum { COUNT = 300 };
    static struct thing *things[COUNT];
    for (int i = 0; i < COUNT; i++)
        things[i] = make();
    cr_expect(kiln_slot_retract(things[100]));
    kiln_slot_table_give_back(&table, things[100]);
    struct kiln_slot_cursor cursor = {0};
    int count = 0;
    for (struct thing *thing; (thing = kiln_slot_table_retract_next(&table, &cursor)); count++) {
        cr_expect_not(kiln_slot_table_contains(&table, thing));
        kiln_slot_table_give_back(&table, thing);
    }
    cr_expect_eq(count, COUNT - 1);
    for (int i = 0; i < COUNT; i++)
        cr_expect_not(kiln_slot_table_contains(&table, things[i]));
    kiln_slot_table_fini(&table);
}

/* Each object has one step of the walk and a look-up a few dozen: an hour when either walks over
 * all objects. */
Test(slot_table, a_million_objects_are_no_burden, .timeout = 60)
{
    enum { COUNT = 1000000 };
    static struct thing *things[COUNT];
    for (int i = 0; i < COUNT; i++)
        things[i] = make();
    for (int i = 0; i < COUNT; i++)
        cr_assert(kiln_slot_table_contains(&table, things[i]));
    for (int i = 0; i < COUNT; i += 2) {
        cr_assert(kiln_slot_retract(things[i]));
        kiln_slot_table_give_back(&table, things[i]);
    }
    struct kiln_slot_cursor cursor = {0};
    int count = 0;
    for (struct thing *thing; (thing = kiln_slot_table_retract_next(&table, &cursor)); count++)
        kiln_slot_table_give_back(&table, thing);
    cr_expect_eq(count, COUNT / 2);
    kiln_slot_table_fini(&table);
}
