#include "cli/bench/bench_shapes.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_error error;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(bench_shapes, .init = setup, .fini = teardown);

static bool are_equal(struct kiln_bench_shape one, struct kiln_bench_shape other)
{
    return one.row == other.row && one.column == other.column && one.row_elems == other.row_elems;
}

Test(bench_shapes, every_graph_is_made_and_has_its_rows)
{
    unsigned count;
    struct kiln_bench_shape *shapes = kiln_bench_shapes_make(0, &count);
    for (unsigned i = 0; i < count; i++) {
        const struct kiln_bench_shape shape = shapes[i];
        const struct kiln_bench_case which = kiln_bench_shape_case(shape.row);
        for (int64_t elements = 1; elements <= 1 << 24; elements <<= 8) {
            struct kiln_graph graph;
            cr_assert_eq(kiln_bench_shape_make(&shape, elements, &arena, &graph, &error), KILN_OK,
                         "%s: %s", which.name, error.text);
            const struct kiln_tensor *x = &graph.tensors[graph.nodes[0].inputs[0]];
            bool has_row = false;
            for (uint32_t axis = 0; axis < x->rank; axis++)
                has_row |= x->dims[axis] == shape.row_elems;
            cr_expect(has_row, "%s of %lld", which.name, (long long)shape.row_elems);
            cr_expect_leq(kiln_tensor_elements(x),
                          elements > 16 * shape.row_elems ? elements : 16 * shape.row_elems);
        }
    }
    free(shapes);
}

Test(bench_shapes, all_types_and_odd_lengths_occur)
{
    unsigned types = 0;
    unsigned odd = 0;
    unsigned count;
    struct kiln_bench_shape *shapes = kiln_bench_shapes_make(0, &count);
    for (unsigned i = 0; i < count; i++) {
        const struct kiln_bench_shape shape = shapes[i];
        types |= 1u << kiln_bench_shape_case(shape.row).dtype;
        odd += (unsigned)(shape.row_elems % 2);
        cr_expect_eq(shape.row_elems, kiln_bench_shape_length(shape.column));
    }
    cr_expect_eq(types, 1u << KILN_DTYPE_F32 | 1u << KILN_DTYPE_F16 | 1u << KILN_DTYPE_BF16);
    cr_expect_gt(odd, count / 2);
    cr_expect_geq(count, 150);
    free(shapes);
}

Test(bench_shapes, a_seed_shuffles_the_table_and_keeps_lengths_near_it)
{
    unsigned moved = 0;
    unsigned changed = 0;
    bool is_there[64][32] = {{false}};
    unsigned count;
    struct kiln_bench_shape *shapes = kiln_bench_shapes_make(5, &count);
    struct kiln_bench_shape *again = kiln_bench_shapes_make(5, &count);
    struct kiln_bench_shape *table = kiln_bench_shapes_make(0, &count);
    for (unsigned i = 0; i < count; i++) {
        const struct kiln_bench_shape shape = shapes[i];
        cr_expect(are_equal(shape, again[i]), "a seed gives the same every time");
        cr_expect_not(is_there[shape.row][shape.column]);
        is_there[shape.row][shape.column] = true;
        moved += shape.row != table[i].row || shape.column != table[i].column;
        int64_t length = kiln_bench_shape_length(shape.column);
        int64_t change = shape.row_elems - length;
        changed += change != 0;
        cr_expect_eq(change % 2, 0, "odd lengths stay odd");
        cr_expect_leq(change < 0 ? -change : change, length / 32);
    }
    cr_expect_gt(moved, count / 2);
    cr_expect_gt(changed, count / 2);
    free(shapes);
    free(again);
    free(table);
}

Test(bench_shapes, names_have_kind_type_and_length)
{
    char name[KILN_BENCH_NAME_BYTES];
    unsigned found = 0;
    unsigned count;
    struct kiln_bench_shape *shapes = kiln_bench_shapes_make(0, &count);
    for (unsigned i = 0; i < count; i++) {
        kiln_bench_shape_name(&shapes[i], name);
        found += strcmp(name, "softmax_bf16_1023") == 0;
    }
    free(shapes);
    cr_expect_eq(found, 1);
}
