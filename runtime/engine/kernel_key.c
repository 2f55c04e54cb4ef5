#include "runtime/engine/kernel_key.h"

#include "compiler/codegen/codegen.h"
#include "runtime/engine/kernel_format.h"

#include <string.h>

static const char kind[] = "kernel";
/* As the generators mark where their own text goes on after that of a file. */
static const char line_mark[] = "#line ";
static const char generated_mark[] = " \"generated\"\n";

/* Appends what lies outside of template files, and the marks that tell which file stood where. */
static void append_generated(const char *source, size_t size, struct kiln_buffer *text)
{
    const char *end = source + size;
    bool is_generated = true;
    for (const char *line = source; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
        bool is_mark =
            length > sizeof line_mark && memcmp(line, line_mark, sizeof line_mark - 1) == 0;
        if (is_mark) {
            size_t tail = sizeof generated_mark - 1;
            is_generated =
                length >= tail && memcmp(line + length - tail, generated_mark, tail) == 0;
        }
        if (is_mark || is_generated)
            kiln_buffer_append(text, line, length);
        line += length;
    }
}

enum { LAUNCH_BYTES = 6 * sizeof(uint32_t) };

static void append_launch(const struct kiln_kernel *kernel, struct kiln_buffer *field)
{
    for (int i = 0; i < 3; i++)
        kiln_buffer_append_u32(field, kernel->block[i]);
    kiln_buffer_append_u32(field, kernel->lds_bytes);
    kiln_buffer_append_u32(field, kernel->uses_barrier);
    kiln_buffer_append_u32(field, kernel->argument_count);
}

/* False when it is none. */
static bool read_launch(const struct kiln_key_text *text, struct kiln_kernel_key *key)
{
    struct kiln_reader field;
    kiln_reader_init(&field, text->text, text->size);
    for (int i = 0; i < 3; i++)
        key->block[i] = kiln_reader_u32(&field);
    key->lds_bytes = kiln_reader_u32(&field);
    uint32_t uses_barrier = kiln_reader_u32(&field);
    key->uses_barrier = uses_barrier != 0;
    key->argument_count = kiln_reader_u32(&field);
    return text->size == LAUNCH_BYTES && uses_barrier <= 1;
}

enum kiln_status kiln_kernel_key_make(const struct kiln_kernel *kernel,
                                      const struct kiln_target *target,
                                      struct kiln_cache_key *ret_key, struct kiln_error *error)
{
    size_t size = strlen(kernel->source);
    struct kiln_hash128 hash = kiln_hash128(kernel->source, size);
    struct kiln_buffer field;
    kiln_cache_key_init(ret_key);
    kiln_buffer_init(&field);
    kiln_cache_key_add_text(ret_key, kind);
    kiln_buffer_append_u32(&field, KILN_KERNEL_FORMAT_VERSION);
    kiln_cache_key_add(ret_key, field.data, field.size);
    kiln_cache_key_add_text(ret_key, target->name);
    kiln_buffer_clear(&field);
    kiln_codegen_append_options(target, &field);
    kiln_cache_key_add(ret_key, field.data, field.size);
    kiln_buffer_clear(&field);
    append_launch(kernel, &field);
    kiln_cache_key_add(ret_key, field.data, field.size);
    kiln_buffer_clear(&field);
    kiln_buffer_append_u64(&field, size);
    kiln_buffer_append_u64(&field, hash.low);
    kiln_buffer_append_u64(&field, hash.high);
    kiln_cache_key_add(ret_key, field.data, field.size);
    kiln_buffer_clear(&field);
    append_generated(kernel->source, size, &field);
    kiln_cache_key_add(ret_key, field.data, field.size);
    enum kiln_status status = kiln_buffer_check(&field, error);
    kiln_buffer_fini(&field);
    return status ? status : kiln_cache_key_finish(ret_key, error);
}

bool kiln_key_text_is(const struct kiln_key_text *text, const char *expected)
{
    return text->size == strlen(expected) && memcmp(text->text, expected, text->size) == 0;
}

static struct kiln_key_text take_text(struct kiln_reader *reader)
{
    struct kiln_key_text text = {.text = NULL};
    text.text = kiln_reader_field(reader, &text.size);
    return text;
}

bool kiln_kernel_key_is_one(const void *bytes, size_t size)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    struct kiln_key_text first = take_text(&reader);
    return !reader.failed && kiln_key_text_is(&first, kind);
}

enum kiln_status kiln_kernel_key_read(const void *bytes, size_t size,
                                      struct kiln_kernel_key *ret_key, struct kiln_error *error)
{
    struct kiln_kernel_key key = {0};
    struct kiln_reader reader;
    struct kiln_reader field;
    kiln_reader_init(&reader, bytes, size);
    struct kiln_key_text text = take_text(&reader);
    if (reader.failed || !kiln_key_text_is(&text, kind))
        return kiln_error_set(error, KILN_CORRUPT, "its key is not that of a kernel");
    text = take_text(&reader);
    if (reader.failed || text.size != sizeof key.format_version)
        return kiln_error_set(error, KILN_CORRUPT, "its key has no format version");
    kiln_reader_init(&field, text.text, text.size);
    key.format_version = kiln_reader_u32(&field);
    if (key.format_version != KILN_KERNEL_FORMAT_VERSION)
        return kiln_error_set(error, KILN_UNSUPPORTED, "its kernel is in format version %u, not %d",
                              key.format_version, KILN_KERNEL_FORMAT_VERSION);
    key.target = take_text(&reader);
    key.compile_options = take_text(&reader);
    struct kiln_key_text launch = take_text(&reader);
    text = take_text(&reader);
    key.generated = take_text(&reader);
    if (!reader.failed && text.size == 3 * sizeof(uint64_t) && read_launch(&launch, &key)) {
        kiln_reader_init(&field, text.text, text.size);
        key.source_bytes = kiln_reader_u64(&field);
    } else {
        reader.failed = true;
    }
    if (reader.failed || reader.position != size)
        return kiln_error_set(error, KILN_CORRUPT, "its key does not have the fields of a kernel");
    *ret_key = key;
    return KILN_OK;
}
