#include "runtime/engine/program_format.h"

#include <string.h>

enum {
    ARGUMENT_BYTES = 20,
    /* Of a kernel without arguments and with an empty symbol: its name, a length, 8 numbers. */
    LEAST_KERNEL_BYTES = 16 + 8 + 8 * 4,
};

static void write_argument(const struct kiln_argument *argument, struct kiln_buffer *buffer)
{
    kiln_buffer_append_u32(buffer, (uint32_t)argument->kind);
    kiln_buffer_append_u32(buffer, argument->tensor);
    kiln_buffer_append_u64(buffer, argument->offset_bytes); /* or the integer's bits */
    kiln_buffer_append_u32(buffer, argument->alignment_bytes);
}

static void write_kernel(const struct kiln_compiled_kernel *kernel, struct kiln_buffer *buffer)
{
    kiln_buffer_append_u64(buffer, kernel->name.high);
    kiln_buffer_append_u64(buffer, kernel->name.low);
    kiln_buffer_append_field(buffer, kernel->symbol, strlen(kernel->symbol));
    for (int i = 0; i < 3; i++)
        kiln_buffer_append_u32(buffer, kernel->grid[i]);
    for (int i = 0; i < 3; i++)
        kiln_buffer_append_u32(buffer, kernel->block[i]);
    kiln_buffer_append_u32(buffer, kernel->form);
    kiln_buffer_append_u32(buffer, kernel->argument_count);
    for (uint32_t i = 0; i < kernel->argument_count; i++)
        write_argument(&kernel->arguments[i], buffer);
}

void kiln_program_format_write(const struct kiln_compiled_program *program,
                               struct kiln_buffer *buffer)
{
    kiln_buffer_append_u32(buffer, KILN_PROGRAM_FORMAT_VERSION);
    kiln_buffer_append_u64(buffer, program->workspace_bytes);
    kiln_buffer_append_u32(buffer, program->kernel_count);
    for (uint32_t i = 0; i < program->kernel_count; i++)
        write_kernel(&program->kernels[i], buffer);
}

static void read_argument(struct kiln_reader *reader, struct kiln_argument *argument)
{
    argument->kind = (enum kiln_argument_kind)kiln_reader_u32(reader);
    argument->tensor = kiln_reader_u32(reader);
    argument->offset_bytes = kiln_reader_u64(reader);
    argument->alignment_bytes = kiln_reader_u32(reader);
}

/* A field, copied into the program with a NUL behind it. NULL data with size 0 after a failed read.
 */
static enum kiln_status read_field(struct kiln_reader *reader, struct kiln_shared_program *program,
                                   char **ret_data, size_t *ret_size, struct kiln_error *error)
{
    size_t size = 0;
    const void *bytes = kiln_reader_field(reader, &size);
    if (!bytes || reader->failed) {
        *ret_data = NULL;
        *ret_size = 0;
        return KILN_OK;
    }
    enum kiln_status status = kiln_shared_program_allocate(program, size + 1, 1, ret_data, error);
    if (status)
        return status;
    memcpy(*ret_data, bytes, size);
    *ret_size = size;
    return KILN_OK;
}

static enum kiln_status read_arguments(struct kiln_reader *reader,
                                       struct kiln_shared_program *program,
                                       struct kiln_compiled_kernel *kernel,
                                       struct kiln_error *error)
{
    uint32_t count = kiln_reader_u32(reader);
    /* Checked before memory is taken for as many as untrusted bytes ask for. */
    if (reader->failed || count > KILN_PROGRAM_MAX_ARGUMENTS ||
        count > (reader->size - reader->position) / ARGUMENT_BYTES) {
        reader->failed = true;
        return KILN_OK;
    }
    enum kiln_status status = kiln_shared_program_allocate(
        program, count, sizeof(*kernel->arguments), &kernel->arguments, error);
    if (status)
        return status;
    kernel->argument_count = count;
    for (uint32_t i = 0; i < count; i++)
        read_argument(reader, &kernel->arguments[i]);
    return KILN_OK;
}

static enum kiln_status read_kernel(struct kiln_reader *reader, struct kiln_shared_program *program,
                                    struct kiln_compiled_kernel *kernel, struct kiln_error *error)
{
    size_t symbol_bytes = 0;
    kernel->name.high = kiln_reader_u64(reader);
    kernel->name.low = kiln_reader_u64(reader);
    enum kiln_status status = read_field(reader, program, &kernel->symbol, &symbol_bytes, error);
    if (status)
        return status;
    /* A NUL inside would hide what follows it. */
    if (!kernel->symbol || strlen(kernel->symbol) != symbol_bytes)
        reader->failed = true;
    for (int i = 0; i < 3; i++)
        kernel->grid[i] = kiln_reader_u32(reader);
    for (int i = 0; i < 3; i++)
        kernel->block[i] = kiln_reader_u32(reader);
    kernel->form = kiln_reader_u32(reader);
    return read_arguments(reader, program, kernel, error);
}

static enum kiln_status read_program(struct kiln_reader *reader, const struct kiln_graph *graph,
                                     struct kiln_shared_program *program, struct kiln_error *error)
{
    uint32_t version = kiln_reader_u32(reader);
    if (!reader->failed && version != KILN_PROGRAM_FORMAT_VERSION)
        return kiln_error_set(error, KILN_CORRUPT, "program has format version %u instead of %d",
                              version, KILN_PROGRAM_FORMAT_VERSION);
    program->program.workspace_bytes = kiln_reader_u64(reader);
    uint32_t count = kiln_reader_u32(reader);
    /* Checked before memory is taken for as many as untrusted bytes ask for. */
    if (!reader->failed && count > (reader->size - reader->position) / LEAST_KERNEL_BYTES)
        return kiln_error_set(error, KILN_CORRUPT, "program has fewer than its %u kernels", count);
    if (!reader->failed) {
        enum kiln_status status = kiln_shared_program_set_count(program, count, error);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < count && !reader->failed; i++) {
        enum kiln_status status = read_kernel(reader, program, &program->program.kernels[i], error);
        if (status)
            return status;
    }
    if (reader->failed || reader->position != reader->size)
        return kiln_error_set(error, KILN_CORRUPT, "program ends or goes on at byte %zu of %zu",
                              reader->position, reader->size);
    return kiln_compiled_program_validate(&program->program, graph, error);
}

enum kiln_status kiln_program_format_read(const void *bytes, size_t size,
                                          const struct kiln_graph *graph,
                                          struct kiln_shared_program **ret_program,
                                          struct kiln_error *error)
{
    struct kiln_shared_program *program = NULL;
    enum kiln_status status = kiln_shared_program_create(&program, error);
    if (status)
        return status;
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    status = read_program(&reader, graph, program, error);
    if (status) {
        kiln_shared_program_unref(program);
        return status;
    }
    *ret_program = program;
    return KILN_OK;
}
