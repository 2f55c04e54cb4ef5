#include "cli/bench/bench_buffers.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_device *device;
static struct kiln_error error;

static void set_up(void)
{
    kiln_error_init(&error);
    cr_assert_eq(kiln_device_open("host", &device, &error), KILN_OK, "%s", error.text);
}

static void tear_down(void)
{
    kiln_device_close(device);
}

TestSuite(bench_buffers, .init = set_up, .fini = tear_down);

/* y = log(x) * s: x is wanted positive and larger than what is made element by element; s is a
 * host scalar, t is virtual. */
enum { X, T, S, Y, TENSORS };
enum { ELEMENTS = 600001 };

static struct kiln_tensor tensors[TENSORS] = {
    [X] = {.uid = 10,
           .name = "x",
           .dtype = KILN_DTYPE_F32,
           .role = KILN_TENSOR_INPUT,
           .rank = 1,
           .dims = {ELEMENTS},
           .strides = {1},
           .producer = KILN_NONE},
    [T] = {.uid = 11,
           .name = "t",
           .dtype = KILN_DTYPE_F32,
           .role = KILN_TENSOR_VIRTUAL,
           .rank = 1,
           .dims = {ELEMENTS},
           .strides = {1},
           .producer = 0},
    [S] = {.uid = 12,
           .name = "s",
           .dtype = KILN_DTYPE_F32,
           .role = KILN_TENSOR_HOST_SCALAR,
           .producer = KILN_NONE},
    [Y] = {.uid = 13,
           .name = "y",
           .dtype = KILN_DTYPE_F16,
           .role = KILN_TENSOR_OUTPUT,
           .rank = 1,
           .dims = {ELEMENTS},
           .strides = {1},
           .producer = 1},
};
static struct kiln_node nodes[2] = {
    {.kind = KILN_NODE_POINTWISE,
     .name = "log",
     .input_count = 1,
     .output_count = 1,
     .inputs = {X},
     .outputs = {T},
     .pointwise = {.mode = KILN_POINTWISE_LOG}},
    {.kind = KILN_NODE_POINTWISE,
     .name = "mul",
     .input_count = 2,
     .output_count = 1,
     .inputs = {T, S},
     .outputs = {Y},
     .pointwise = {.mode = KILN_POINTWISE_MUL}},
};
static const struct kiln_graph graph = {
    .name = "log", .tensor_count = TENSORS, .node_count = 2, .tensors = tensors, .nodes = nodes};

enum { SET_BYTES = (ELEMENTS * 4 + 255) / 256 * 256 + (ELEMENTS * 2 + 255) / 256 * 256 };

static const void *pointer_of(const struct kiln_bench_buffers *buffers, uint64_t turn, int64_t uid)
{
    const struct kiln_buffer_binding *bindings = kiln_bench_buffers_at(buffers, turn);
    for (uint32_t i = 0; i < buffers->binding_count; i++)
        if (bindings[i].uid == uid)
            return bindings[i].pointer;
    cr_assert_fail("no binding for uid %lld", (long long)uid);
    return NULL;
}

Test(bench_buffers, sets_hold_equal_inputs_at_different_places)
{
    struct kiln_bench_buffers buffers;
    cr_assert_eq(kiln_bench_buffers_init(&buffers, device, &graph, 5 * (uint64_t)SET_BYTES / 2,
                                         UINT64_MAX, &error),
                 KILN_OK, "%s", error.text);
    cr_expect_eq(buffers.set_bytes, SET_BYTES);
    cr_assert_eq(buffers.set_count, 3, "two and a half sets are asked for");
    cr_assert_eq(buffers.binding_count, 3, "virtual tensors have no memory");
    const float *first = pointer_of(&buffers, 0, 10);
    float least = first[0];
    float most = first[0];
    for (size_t i = 0; i < ELEMENTS; i++) {
        least = first[i] < least ? first[i] : least;
        most = first[i] > most ? first[i] : most;
    }
    cr_expect_gt(least, 0, "logarithms want positive numbers, in the last element too");
    cr_expect_geq(most, 2 * least, "not all the same");
    for (uint64_t turn = 0; turn < 3; turn++) {
        const char *x = pointer_of(&buffers, turn, 10);
        const char *y = pointer_of(&buffers, turn, 13);
        cr_expect_eq((uintptr_t)x % 256, 0);
        cr_expect_eq((uintptr_t)y % 256, 0);
        cr_expect(y >= x + 4 * ELEMENTS || x >= y + 2 * ELEMENTS, "tensors overlap");
        cr_expect_eq(memcmp(x, first, 4 * ELEMENTS), 0);
        const char *next = pointer_of(&buffers, turn + 1, 10);
        cr_expect(next >= x + SET_BYTES || x >= next + SET_BYTES, "sets overlap");
        cr_expect_neq(*(const float *)pointer_of(&buffers, turn, 12), 0);
    }
    cr_expect_eq(pointer_of(&buffers, 3, 10), (const void *)first,
                 "after the last comes the first");
    kiln_bench_buffers_fini(&buffers);
}

Test(bench_buffers, there_are_two_sets_where_memory_allows)
{
    struct kiln_bench_buffers buffers;
    cr_assert_eq(kiln_bench_buffers_init(&buffers, device, &graph, 1, UINT64_MAX, &error), KILN_OK);
    cr_expect_eq(buffers.set_count, 2);
    kiln_bench_buffers_fini(&buffers);
    cr_assert_eq(kiln_bench_buffers_init(&buffers, device, &graph, 100 * (uint64_t)SET_BYTES,
                                         3 * (uint64_t)SET_BYTES + 1, &error),
                 KILN_OK);
    cr_expect_eq(buffers.set_count, 3);
    kiln_bench_buffers_fini(&buffers);
    cr_assert_eq(kiln_bench_buffers_init(&buffers, device, &graph, 1, SET_BYTES, &error), KILN_OK);
    cr_expect_eq(buffers.set_count, 1);
    kiln_bench_buffers_fini(&buffers);
    cr_expect_eq(kiln_bench_buffers_init(&buffers, device, &graph, 1, SET_BYTES - 1, &error),
                 KILN_NO_MEMORY);
    cr_expect_not_null(strstr(error.text, "3.4 MiB do not fit"), "%s", error.text);
    kiln_bench_buffers_fini(&buffers);
}

Test(bench_buffers, failures_of_the_device_leave_nothing)
{
    struct stand_in hip = stand_in_open();
    struct kiln_device *gpu = NULL;
    cr_assert_eq(kiln_device_open("hip", &gpu, &error), KILN_OK, "%s", error.text);
    static const struct {
        const char *function;
        int code;
        enum kiln_status status;
    } failures[] = {
        {"hipMalloc", KILN_STAND_IN_OUT_OF_MEMORY, KILN_NO_MEMORY},
        {"hipMemcpy", KILN_STAND_IN_INVALID_VALUE, KILN_DEVICE},
        {"hipMemcpyDtoDAsync", KILN_STAND_IN_INVALID_VALUE, KILN_DEVICE},
        {"hipStreamSynchronize", KILN_STAND_IN_INVALID_VALUE, KILN_DEVICE},
    };
    for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
        hip.fail(failures[i].function, failures[i].code, 0);
        struct kiln_bench_buffers buffers;
        cr_expect_eq(kiln_bench_buffers_init(&buffers, gpu, &graph, 1, UINT64_MAX, &error),
                     failures[i].status, "%s: %s", failures[i].function, error.text);
        kiln_bench_buffers_fini(&buffers);
        cr_expect_eq(hip.live_allocations(), 0);
    }
    kiln_device_close(gpu);
}
