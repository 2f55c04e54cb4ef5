#include "compiler/emit/template_text.h"

#include <inttypes.h>
#include <string.h>

static const char include_start[] = "#include \"device/";

const struct kiln_template_file *kiln_template_find(const char *path)
{
    size_t low = 0;
    size_t high = kiln_template_file_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, kiln_template_files[middle].path);
        if (order == 0)
            return &kiln_template_files[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The included path of an include line, or false. */
static bool parse_include(const char *line, size_t length, char *ret_path, size_t path_bytes)
{
    size_t prefix = strlen("#include \"");
    if (length <= sizeof include_start ||
        strncmp(line, include_start, sizeof include_start - 1) != 0)
        return false;
    const char *end = memchr(line + prefix, '"', length - prefix);
    if (end == NULL || (size_t)(end - line) - prefix >= path_bytes)
        return false;
    memcpy(ret_path, line + prefix, (size_t)(end - line) - prefix);
    ret_path[(size_t)(end - line) - prefix] = '\0';
    return true;
}

void kiln_template_append(struct kiln_template_inclusion *inclusion, const char *path,
                          struct kiln_buffer *source)
{
    const struct kiln_template_file *file = kiln_template_find(path);
    if (file == NULL || inclusion->included[file - kiln_template_files])
        return;
    inclusion->included[file - kiln_template_files] = true;
    kiln_buffer_printf(source, "#line 1 \"%s\"\n", path);
    const char *cursor = file->text;
    const char *end = file->text + file->size;
    for (unsigned line = 1; cursor < end; line++) {
        const char *newline = memchr(cursor, '\n', (size_t)(end - cursor));
        size_t length = newline != NULL ? (size_t)(newline - cursor) + 1 : (size_t)(end - cursor);
        char included[128];
        if (parse_include(cursor, length, included, sizeof included)) {
            kiln_template_append(inclusion, included, source);
            kiln_buffer_printf(source, "#line %u \"%s\"\n", line + 1, path);
        } else {
            kiln_buffer_append(source, cursor, length);
        }
        cursor += length;
    }
}
