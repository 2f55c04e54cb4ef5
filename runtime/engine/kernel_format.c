#include "runtime/engine/kernel_format.h"

#include "runtime/engine/shared_program.h"

#include <stdlib.h>
#include <string.h>

static void write_resources(const struct kiln_kernel_resources *resources,
                            struct kiln_buffer *buffer)
{
    kiln_buffer_append_u32(buffer, resources->vgprs);
    kiln_buffer_append_u32(buffer, resources->sgprs);
    kiln_buffer_append_u32(buffer, resources->lds_bytes);
    kiln_buffer_append_u32(buffer, resources->scratch_bytes);
    kiln_buffer_append_u32(buffer, resources->vgpr_spills);
    kiln_buffer_append_u32(buffer, resources->sgpr_spills);
    kiln_buffer_append_u32(buffer, resources->kernarg_bytes);
    kiln_buffer_append_u32(buffer, resources->wave_size);
}

void kiln_kernel_format_write(const struct kiln_shared_kernel *kernel, bool with_code,
                              struct kiln_buffer *buffer)
{
    kiln_buffer_append_u32(buffer, KILN_KERNEL_FORMAT_VERSION);
    kiln_buffer_append_field(buffer, kernel->symbol, strlen(kernel->symbol));
    for (int i = 0; i < 3; i++)
        kiln_buffer_append_u32(buffer, kernel->block[i]);
    kiln_buffer_append_u32(buffer, kernel->lds_bytes);
    kiln_buffer_append_u32(buffer, kernel->uses_barrier);
    kiln_buffer_append_u32(buffer, kernel->argument_count);
    write_resources(&kernel->object.resources, buffer);
    kiln_buffer_append_field(buffer, kernel->object.compiler, strlen(kernel->object.compiler));
    kiln_buffer_append_field(buffer, kernel->object.bytes, with_code ? kernel->object.size : 0);
}

static void read_resources(struct kiln_reader *reader, struct kiln_kernel_resources *resources)
{
    resources->vgprs = kiln_reader_u32(reader);
    resources->sgprs = kiln_reader_u32(reader);
    resources->lds_bytes = kiln_reader_u32(reader);
    resources->scratch_bytes = kiln_reader_u32(reader);
    resources->vgpr_spills = kiln_reader_u32(reader);
    resources->sgpr_spills = kiln_reader_u32(reader);
    resources->kernarg_bytes = kiln_reader_u32(reader);
    resources->wave_size = kiln_reader_u32(reader);
}

/* A name that is too long, or has a NUL inside, fails the reader. */
static void read_compiler(struct kiln_reader *reader, struct kiln_code_object *object)
{
    size_t size = 0;
    const char *name = kiln_reader_field(reader, &size);
    if (reader->failed || size >= sizeof object->compiler || memchr(name, '\0', size))
        reader->failed = true;
    else
        memcpy(object->compiler, name, size);
}

/* A field, copied with a NUL behind it; NULL without an error when there is none. */
static enum kiln_status read_field(struct kiln_reader *reader, char **ret_data, size_t *ret_size,
                                   struct kiln_error *error)
{
    size_t size = 0;
    const void *bytes = kiln_reader_field(reader, &size);
    if (!bytes || reader->failed)
        return KILN_OK;
    char *data = malloc(size + 1);
    if (!data)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for %zu bytes of a kernel", size);
    memcpy(data, bytes, size);
    data[size] = '\0';
    *ret_data = data;
    *ret_size = size;
    return KILN_OK;
}

static enum kiln_status read_kernel(struct kiln_reader *reader, struct kiln_shared_kernel *kernel,
                                    struct kiln_error *error)
{
    uint32_t version = kiln_reader_u32(reader);
    if (!reader->failed && version != KILN_KERNEL_FORMAT_VERSION)
        return kiln_error_set(error, KILN_CORRUPT, "kernel has format version %u instead of %d",
                              version, KILN_KERNEL_FORMAT_VERSION);
    size_t symbol_bytes = 0;
    enum kiln_status status = read_field(reader, &kernel->symbol, &symbol_bytes, error);
    if (status)
        return status;
    /* A NUL inside would hide what follows it. */
    if (!kernel->symbol || strlen(kernel->symbol) != symbol_bytes)
        reader->failed = true;
    for (int i = 0; i < 3; i++)
        kernel->block[i] = kiln_reader_u32(reader);
    kernel->lds_bytes = kiln_reader_u32(reader);
    uint32_t uses_barrier = kiln_reader_u32(reader);
    kernel->uses_barrier = uses_barrier != 0;
    kernel->argument_count = kiln_reader_u32(reader);
    read_resources(reader, &kernel->object.resources);
    read_compiler(reader, &kernel->object);
    char *code = NULL;
    status = read_field(reader, &code, &kernel->object.size, error);
    kernel->object.bytes = (unsigned char *)code;
    if (status)
        return status;
    if (reader->failed || reader->position != reader->size || uses_barrier > 1)
        return kiln_error_set(error, KILN_CORRUPT, "kernel ends or goes on at byte %zu of %zu",
                              reader->position, reader->size);
    const char *fault =
        kiln_kernel_launch_fault(kernel->symbol, NULL, kernel->block, kernel->argument_count);
    if (fault)
        return kiln_error_set(error, KILN_CORRUPT, "kernel has %s", fault);
    return KILN_OK;
}

enum kiln_status kiln_kernel_format_read(const void *bytes, size_t size,
                                         struct kiln_shared_kernel **ret_kernel,
                                         struct kiln_error *error)
{
    struct kiln_shared_kernel *kernel = NULL;
    enum kiln_status status = kiln_shared_kernel_create(&kernel, error);
    if (status)
        return status;
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    status = read_kernel(&reader, kernel, error);
    if (status) {
        kiln_shared_kernel_unref(kernel);
        return status;
    }
    *ret_kernel = kernel;
    return KILN_OK;
}
