#include "runtime/engine/kernel_key.h"

#include "compiler/codegen/codegen.h"
#include "compiler/emit/template_text.h"
#include "runtime/engine/kernel_format.h"

#include <stdlib.h>
#include <string.h>

static const char kind[] = "kernel";
static const char note[] = "spills";
/* As the generators mark where their own text goes on after that of a file. */
static const char line_mark[] = "#line ";
static const char generated_mark[] = " \"generated\"\n";

enum source_line {
    LINE_OF_TEXT,
    MARK_OF_GENERATED, /* generated text follows */
    MARK_OF_FILE,      /* the text of a template file follows */
};

/* Takes the line at `line`; `ret_next`: the one after it. */
static enum source_line classify_line(const char *line, const char *end, const char **ret_next)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t length = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
    size_t tail = sizeof generated_mark - 1;
    *ret_next = line + length;
    if (length <= sizeof line_mark || memcmp(line, line_mark, sizeof line_mark - 1) != 0)
        return LINE_OF_TEXT;
    return length >= tail && memcmp(line + length - tail, generated_mark, tail) == 0
               ? MARK_OF_GENERATED
               : MARK_OF_FILE;
}

/* Appends what lies outside of template files, and the marks that tell which file stood where. */
static void append_generated(const char *source, size_t size, struct kiln_buffer *text)
{
    const char *end = source + size;
    bool is_generated = true;
    const char *next;
    for (const char *line = source; line < end; line = next) {
        enum source_line found = classify_line(line, end, &next);
        if (found != LINE_OF_TEXT)
            is_generated = found == MARK_OF_GENERATED;
        if (found != LINE_OF_TEXT || is_generated)
            kiln_buffer_append(text, line, (size_t)(next - line));
    }
}

/* Appends the file that a mark names, with all that it includes. False when this build has no such
 * file or it is in the source already. */
static bool append_file(struct kiln_template_inclusion *inclusion, const char *mark,
                        const char *end, struct kiln_buffer *source)
{
    char path[128];
    const char *quote = memchr(mark, '"', (size_t)(end - mark));
    const char *last = quote ? memchr(quote + 1, '"', (size_t)(end - quote) - 1) : NULL;
    if (!last || (size_t)(last - quote) > sizeof path)
        return false;
    size_t length = (size_t)(last - quote) - 1;
    memcpy(path, quote + 1, length);
    path[length] = '\0';
    size_t before = source->size;
    kiln_template_append(inclusion, path, source);
    return source->size > before;
}

/* The source that has this generated part. False when the marks in it are not those that the files
 * of this build make. */
static bool rebuild_source(const struct kiln_key_text *generated,
                           struct kiln_template_inclusion *inclusion, struct kiln_buffer *source)
{
    struct kiln_buffer marks;
    kiln_buffer_init(&marks);
    const char *end = generated->text + generated->size;
    bool is_ours = true;
    const char *next;
    for (const char *line = generated->text; line < end && is_ours; line = next) {
        size_t before = source->size;
        if (classify_line(line, end, &next) != MARK_OF_FILE) {
            kiln_buffer_append(source, line, (size_t)(next - line));
            continue;
        }
        is_ours = append_file(inclusion, line, next, source);
        kiln_buffer_clear(&marks);
        if (is_ours)
            append_generated(source->data + before, source->size - before, &marks);
        is_ours = is_ours && marks.size && marks.size <= (size_t)(end - line) &&
                  memcmp(line, marks.data, marks.size) == 0;
        next = is_ours ? line + marks.size : end;
    }
    kiln_buffer_fini(&marks);
    return is_ours;
}

enum kiln_status kiln_kernel_key_check_source(const struct kiln_kernel_key *key, bool *ret_is_ours,
                                              struct kiln_error *error)
{
    struct kiln_buffer source;
    struct kiln_template_inclusion inclusion = {
        .included = calloc(kiln_template_file_count, sizeof *inclusion.included)};
    if (!inclusion.included)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a key");
    kiln_buffer_init(&source);
    bool is_ours = rebuild_source(&key->generated, &inclusion, &source);
    enum kiln_status status = kiln_buffer_check(&source, error);
    if (status == KILN_OK) {
        struct kiln_hash128 hash = kiln_hash128(source.data, source.size);
        *ret_is_ours = is_ours && source.size == key->source_bytes &&
                       hash.high == key->source_hash.high && hash.low == key->source_hash.low;
    }
    kiln_buffer_fini(&source);
    free(inclusion.included);
    return status;
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

enum kiln_status kiln_kernel_key_make_note(const struct kiln_cache_key *key,
                                           struct kiln_cache_key *ret_note,
                                           struct kiln_error *error)
{
    kiln_cache_key_init(ret_note);
    kiln_buffer_append(&ret_note->bytes, key->bytes.data, key->bytes.size);
    kiln_cache_key_add_text(ret_note, note);
    return kiln_cache_key_finish(ret_note, error);
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
        key.source_hash.low = kiln_reader_u64(&field);
        key.source_hash.high = kiln_reader_u64(&field);
    } else {
        reader.failed = true;
    }
    key.is_note = !reader.failed && reader.position != size;
    if (key.is_note) {
        text = take_text(&reader);
        reader.failed = reader.failed || !kiln_key_text_is(&text, note);
    }
    if (reader.failed || reader.position != size)
        return kiln_error_set(error, KILN_CORRUPT, "its key does not have the fields of a kernel");
    *ret_key = key;
    return KILN_OK;
}
