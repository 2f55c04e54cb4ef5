/*
 * Recipes of programs as bytes: what is written is read back, and nothing else is accepted.
 */
#include "runtime/engine/program_format.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_tensor tensors[] = {
    {.role = KILN_TENSOR_INPUT},    {.role = KILN_TENSOR_VIRTUAL},     {.role = KILN_TENSOR_OUTPUT},
    {.role = KILN_TENSOR_CONSTANT}, {.role = KILN_TENSOR_HOST_SCALAR},
};
static const struct kiln_graph graph = {.tensor_count = 5, .tensors = tensors};

static struct kiln_argument arguments[] = {
    {KILN_ARGUMENT_TENSOR, 0, 0, 16},
    {KILN_ARGUMENT_WORKSPACE, KILN_NONE, 512, 256},
    {KILN_ARGUMENT_HOST_SCALAR, 4, 0, 1},
    {KILN_ARGUMENT_TENSOR, 2, 0, 4},
    {KILN_ARGUMENT_INTEGER, KILN_NONE, UINT64_MAX - 40, 1},
};
static struct kiln_compiled_kernel kernels[2];
static struct kiln_compiled_program program;
static struct kiln_buffer bytes;
static struct kiln_error error;

static void set_up(void)
{
    for (uint32_t i = 0; i < 2; i++)
        kernels[i] = (struct kiln_compiled_kernel){
            .symbol = i == 0 ? "first" : "second_2",
            .grid = {70000, 2, 3},
            .block = {64, 4, 1},
            .name = {UINT64_MAX - i, 77 + i},
            .form = 3 * i,
            .argument_count = i == 0 ? 5 : 1,
            .arguments = arguments,
        };
    program = (struct kiln_compiled_program){1024, 2, kernels};
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
}

static void tear_down(void)
{
    kiln_buffer_fini(&bytes);
}

TestSuite(program_format, .init = set_up, .fini = tear_down);

static enum kiln_status read_bytes(const void *data, size_t size,
                                   struct kiln_shared_program **ret_program)
{
    return kiln_program_format_read(data, size, &graph, ret_program, &error);
}

Test(program_format, reads_back_what_it_wrote)
{
    kiln_program_format_write(&program, &bytes);
    struct kiln_shared_program *shared = NULL;
    cr_assert_eq(read_bytes(bytes.data, bytes.size, &shared), KILN_OK, "%s", error.text);
    const struct kiln_compiled_program *back = &shared->program;
    cr_expect_eq(back->workspace_bytes, 1024);
    cr_assert_eq(back->kernel_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct kiln_compiled_kernel *kernel = &back->kernels[i];
        cr_expect_str_eq(kernel->symbol, kernels[i].symbol);
        cr_expect_arr_eq(kernel->grid, kernels[i].grid, sizeof(kernel->grid));
        cr_expect_arr_eq(kernel->block, kernels[i].block, sizeof(kernel->block));
        cr_expect_eq(kernel->name.high, UINT64_MAX - i);
        cr_expect_eq(kernel->name.low, 77 + i);
        cr_expect_eq(kernel->form, 3 * i);
        cr_assert_eq(kernel->argument_count, kernels[i].argument_count);
        for (uint32_t j = 0; j < kernel->argument_count; j++) {
            cr_expect_eq(kernel->arguments[j].kind, arguments[j].kind);
            cr_expect_eq(kernel->arguments[j].tensor, arguments[j].tensor);
            cr_expect_eq(kernel->arguments[j].offset_bytes, arguments[j].offset_bytes);
            cr_expect_eq(kernel->arguments[j].alignment_bytes, arguments[j].alignment_bytes);
        }
        cr_expect_eq(kernel->object.size, 0, "its code is in another entry");
    }
    kiln_compiled_program_unref(back);
}

Test(program_format, same_program_same_bytes)
{
    struct kiln_buffer again;
    kiln_buffer_init(&again);
    kiln_program_format_write(&program, &bytes);
    kiln_program_format_write(&program, &again);
    cr_assert_eq(bytes.size, again.size);
    cr_expect_arr_eq(bytes.data, again.data, bytes.size);
    kiln_buffer_fini(&again);
}

Test(program_format, every_truncation_and_extension_is_corrupt)
{
    kiln_program_format_write(&program, &bytes);
    struct kiln_shared_program *shared = NULL;
    for (size_t size = 0; size < bytes.size; size++)
        cr_expect_eq(read_bytes(bytes.data, size, &shared), KILN_CORRUPT, "%zu bytes", size);
    kiln_buffer_append(&bytes, "x", 1);
    cr_expect_eq(read_bytes(bytes.data, bytes.size, &shared), KILN_CORRUPT);
    cr_expect_null(shared);
}

Test(program_format, flipped_bytes_never_crash)
{
    kiln_program_format_write(&program, &bytes);
    uint32_t corrupt = 0;
    for (size_t i = 0; i < bytes.size * 8; i++) {
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ (1 << i % 8));
        struct kiln_shared_program *shared = NULL;
        enum kiln_status status = read_bytes(bytes.data, bytes.size, &shared);
        if (status == KILN_OK)
            kiln_shared_program_unref(shared);
        else
            corrupt++;
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ (1 << i % 8));
    }
    cr_expect_gt(corrupt, 500, "only %u flips were noticed", corrupt);
}

static void expect_corrupt(const char *part)
{
    kiln_buffer_clear(&bytes);
    kiln_program_format_write(&program, &bytes);
    struct kiln_shared_program *shared = NULL;
    cr_expect_eq(read_bytes(bytes.data, bytes.size, &shared), KILN_CORRUPT, "%s", part);
    cr_expect_not_null(strstr(error.text, part), "'%s' lacks '%s'", error.text, part);
}

Test(program_format, refuses_what_does_not_fit_the_graph)
{
    struct kiln_argument bad = {KILN_ARGUMENT_TENSOR, 0, 0, 16};
    kernels[1].arguments = &bad;
    bad.tensor = 5;
    expect_corrupt("argument 0 of kernel 'second_2' has a tensor that the graph does not have");
    bad.tensor = 1;
    expect_corrupt("a tensor without memory");
    bad.tensor = 4;
    expect_corrupt("a tensor without memory");
    bad = (struct kiln_argument){KILN_ARGUMENT_HOST_SCALAR, 0, 0, 1};
    expect_corrupt("a host scalar that the graph has not");
    bad = (struct kiln_argument){KILN_ARGUMENT_WORKSPACE, KILN_NONE, 1024, 256};
    expect_corrupt("an offset outside the workspace");
    bad = (struct kiln_argument){KILN_ARGUMENT_TENSOR, 0, 0, 12};
    expect_corrupt("an alignment that is no power of two");
    bad = (struct kiln_argument){KILN_ARGUMENT_INTEGER, 77, 40, 1};
    expect_corrupt("a tensor that its kind does not have");
    bad = (struct kiln_argument){KILN_ARGUMENT_WORKSPACE, 77, 512, 256};
    expect_corrupt("a tensor that its kind does not have");
    bad = (struct kiln_argument){(enum kiln_argument_kind)4, 0, 0, 4};
    expect_corrupt("an unknown kind");
}

Test(program_format, refuses_a_program_that_does_nothing)
{
    program.kernel_count = 0;
    expect_corrupt("program has no kernels");
}

/* Lowering 4096 nodes gives 6020 of them, when each is a reduction in segments. */
Test(program_format, reads_as_many_kernels_as_there_are)
{
    enum { MANY = 6020 };
    static struct kiln_compiled_kernel many[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        many[i] = kernels[i % 2];
    program.kernels = many;
    program.kernel_count = MANY;
    kiln_program_format_write(&program, &bytes);
    struct kiln_shared_program *shared = NULL;
    cr_assert_eq(read_bytes(bytes.data, bytes.size, &shared), KILN_OK, "%s", error.text);
    cr_expect_eq(shared->program.kernel_count, MANY);
    kiln_shared_program_unref(shared);
}

Test(program_format, takes_no_memory_for_kernels_that_are_not_there)
{
    enum { COUNT_OFFSET = 12 };
    kiln_program_format_write(&program, &bytes);
    memset(bytes.data + COUNT_OFFSET, 0xff, sizeof(uint32_t));
    struct kiln_shared_program *shared = NULL;
    cr_assert_eq(read_bytes(bytes.data, bytes.size, &shared), KILN_CORRUPT);
    cr_expect_not_null(strstr(error.text, "fewer than its 4294967295 kernels"), "%s", error.text);
}

Test(program_format, refuses_impossible_kernels)
{
    kernels[1].symbol = "no symbol";
    expect_corrupt("no proper symbol");
    kernels[1].symbol = "";
    expect_corrupt("no proper symbol");
    kernels[1].symbol = "fine";
    kernels[1].grid[1] = 0;
    expect_corrupt("an impossible launch size");
    kernels[1].grid[1] = 65536;
    expect_corrupt("a larger launch than devices take");
    kernels[1].grid[1] = 1;
    const uint32_t groups = kernels[1].grid[0];
    kernels[1].grid[0] = UINT32_MAX / kernels[1].block[0] + 1; /* 2^32 work-items */
    expect_corrupt("a larger launch than devices take");
    kernels[1].grid[0] = groups;
    kernels[1].block[1] = 32;
    expect_corrupt("too many work-items");
    kernels[1].block[1] = 1;
    program.workspace_bytes = UINT64_MAX;
    expect_corrupt("bytes of workspace");
}
