#include "runtime/engine/program_key.h"

#include "compiler/codegen/codegen.h"
#include "compiler/graph/canonical_reader.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/program.h"
#include "runtime/engine/program_format.h"

#include <string.h>

/* Clearing a buffer forgets that memory was out. */
static void add_field(struct kiln_cache_key *key, struct kiln_buffer *field, bool *failed)
{
    *failed |= field->failed;
    kiln_cache_key_add(key, field->data, field->size);
    kiln_buffer_clear(field);
}

/* General kernels follow from the declared shapes, too. */
static void append_declared_shapes(const struct kiln_graph *graph, struct kiln_buffer *field)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        const struct kiln_tensor *declared = tensor->declared != NULL ? tensor->declared : tensor;
        for (uint32_t axis = 0; axis < declared->rank; axis++) {
            kiln_buffer_append_u64(field, (uint64_t)declared->dims[axis]);
            kiln_buffer_append_u64(field, (uint64_t)declared->strides[axis]);
        }
    }
}

enum kiln_status kiln_program_key_append(const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         const struct kiln_lower_options *options,
                                         struct kiln_cache_key *key, struct kiln_error *error)
{
    struct kiln_buffer field;
    bool failed = false;
    kiln_buffer_init(&field);
    kiln_buffer_append_u32(&field, KILN_PROGRAM_FORMAT_VERSION);
    add_field(key, &field, &failed);
    kiln_graph_append_canonical(graph, &field);
    add_field(key, &field, &failed);
    kiln_cache_key_add_text(key, target->name);
    kiln_cache_key_add_text(key, kiln_templates_digest());
    kiln_codegen_append_options(target, &field);
    add_field(key, &field, &failed);
    kiln_lower_options_append_key(options, &field);
    if (options->is_general)
        append_declared_shapes(graph, &field);
    add_field(key, &field, &failed);
    field.failed = failed;
    enum kiln_status status = kiln_buffer_check(&field, error);
    kiln_buffer_fini(&field);
    return status;
}

/* A text of its own; a NUL inside would hide what follows it. NULL and `failed` when it is none. */
static const char *take_text(struct kiln_reader *reader, struct kiln_arena *arena)
{
    size_t size = 0;
    const char *bytes = kiln_reader_field(reader, &size);
    if (reader->failed || memchr(bytes, '\0', size) != NULL) {
        reader->failed = true;
        return NULL;
    }
    return kiln_arena_strndup(arena, bytes, size);
}

/* As kiln_lower_options_append_key writes them. */
static void take_options(struct kiln_reader *reader, struct kiln_lower_options *options)
{
    size_t size = 0;
    const void *bytes = kiln_reader_field(reader, &size);
    struct kiln_reader field;
    if (reader->failed)
        return;
    kiln_reader_init(&field, bytes, size);
    uint32_t no_fusion = kiln_reader_u32(&field);
    options->no_fusion = no_fusion != 0;
    options->max_vector_elements = kiln_reader_u32(&field);
    options->host_wave_size = kiln_reader_u32(&field);
    options->max_groups = kiln_reader_u32(&field);
    options->skipped_forms = kiln_reader_u32(&field);
    options->max_part_weight = kiln_reader_u32(&field);
    struct kiln_contraction_options *contraction = &options->contraction;
    uint32_t form = kiln_reader_u32(&field);
    contraction->form = (enum kiln_contraction_form)form;
    contraction->tile_m = kiln_reader_u32(&field);
    contraction->tile_n = kiln_reader_u32(&field);
    contraction->tile_k = kiln_reader_u32(&field);
    contraction->waves_m = kiln_reader_u32(&field);
    contraction->waves_n = kiln_reader_u32(&field);
    contraction->waves_k = kiln_reader_u32(&field);
    contraction->segments = kiln_reader_u32(&field);
    uint32_t shapes = kiln_reader_u32(&field);
    options->shapes = (enum kiln_shapes)shapes;
    options->workspace_limit = kiln_reader_u64(&field);
    uint32_t is_general = kiln_reader_u32(&field);
    options->is_general = is_general != 0;
    if (field.failed || (field.position != size && is_general == 0) || is_general > 1 ||
        no_fusion > 1 || form > KILN_CONTRACTION_SMALL || shapes > KILN_SHAPES_ARGUMENT)
        reader->failed = true;
}

bool kiln_program_key_strip_mark(const void **bytes, size_t *size)
{
    static const char mark[] = KILN_TUNED_KEY_MARK;
    struct kiln_reader reader;
    size_t mark_bytes = 0;
    kiln_reader_init(&reader, *bytes, *size);
    const void *first = kiln_reader_field(&reader, &mark_bytes);
    if (reader.failed || mark_bytes != sizeof mark - 1 || memcmp(first, mark, mark_bytes) != 0)
        return false;
    *bytes = (const unsigned char *)*bytes + reader.position;
    *size -= reader.position;
    return true;
}

enum kiln_status kiln_program_key_read(const void *bytes, size_t size, struct kiln_arena *arena,
                                       struct kiln_program_key *ret_key, struct kiln_error *error)
{
    struct kiln_program_key key = {0};
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    size_t field_bytes = 0;
    const void *field = kiln_reader_field(&reader, &field_bytes);
    if (reader.failed || field_bytes != sizeof key.format_version)
        return kiln_error_set(error, KILN_CORRUPT, "its key does not begin with a format version");
    struct kiln_reader version;
    kiln_reader_init(&version, field, field_bytes);
    key.format_version = kiln_reader_u32(&version);
    if (key.format_version != KILN_PROGRAM_FORMAT_VERSION)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "its program is in format version %u, not %d", key.format_version,
                              KILN_PROGRAM_FORMAT_VERSION);
    field = kiln_reader_field(&reader, &field_bytes);
    key.target = take_text(&reader, arena);
    key.templates_digest = take_text(&reader, arena);
    key.compile_options = take_text(&reader, arena);
    take_options(&reader, &key.options);
    if (reader.failed || reader.position != size)
        return kiln_error_set(error, KILN_CORRUPT, "its key does not have the fields of a program");
    if (key.target == NULL || key.templates_digest == NULL || key.compile_options == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a key");
    enum kiln_status status =
        kiln_graph_read_canonical(field, field_bytes, arena, &key.graph, error);
    if (status == KILN_OK)
        *ret_key = key;
    return status;
}
