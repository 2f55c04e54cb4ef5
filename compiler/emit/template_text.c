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

/* The first include line from `text` on, which lies in a file from `begin` to `end`; NULL: none. */
static const char *find_include(const char *begin, const char *text, const char *end)
{
    const size_t length = sizeof include_start - 1;
    while ((size_t)(end - text) > length) {
        const char *found = strstr(text, include_start);
        if (found == NULL || found == begin || found[-1] == '\n')
            return found;
        text = found + length;
    }
    return NULL;
}

/* The included path of an include line, or false. */
static bool parse_include(const char *line, size_t length, char *ret_path, size_t path_bytes)
{
    size_t prefix = strlen("#include \"");
    const char *end = memchr(line + prefix, '"', length - prefix);
    if (end == NULL || (size_t)(end - line) - prefix >= path_bytes)
        return false;
    memcpy(ret_path, line + prefix, (size_t)(end - line) - prefix);
    ret_path[(size_t)(end - line) - prefix] = '\0';
    return true;
}

static unsigned count_lines(const char *text, const char *end)
{
    unsigned lines = 0;
    while ((text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
        lines++;
        text++;
    }
    return lines;
}

static void paste(struct kiln_template_inclusion *inclusion, const char *path,
                  struct kiln_buffer *source)
{
    const struct kiln_template_file *file = kiln_template_find(path);
    if (file == NULL || inclusion->included[file - kiln_template_files])
        return;
    inclusion->included[file - kiln_template_files] = true;
    kiln_buffer_printf(source, "#line 1 \"%s\"\n", path);
    const char *cursor = file->text;
    const char *end = file->text + file->size;
    unsigned line = 1;
    for (;;) {
        const char *include = find_include(file->text, cursor, end);
        if (include == NULL)
            break;
        const char *newline = memchr(include, '\n', (size_t)(end - include));
        const char *next = newline != NULL ? newline + 1 : end;
        char included[128];
        line += count_lines(cursor, include) + 1;
        kiln_buffer_append(source, cursor, (size_t)(include - cursor));
        if (parse_include(include, (size_t)(next - include), included, sizeof included)) {
            paste(inclusion, included, source);
            kiln_buffer_printf(source, "#line %u \"%s\"\n", line, path);
        } else {
            kiln_buffer_append(source, include, (size_t)(next - include));
        }
        cursor = next;
    }
    kiln_buffer_append(source, cursor, (size_t)(end - cursor));
}

void kiln_template_append(struct kiln_template_inclusion *inclusion, const char *path,
                          struct kiln_buffer *source)
{
    size_t begin = source->size;
    paste(inclusion, path, source);
    if (!inclusion->is_outline || source->size == begin)
        return;
    source->size = begin;
    kiln_buffer_printf(source, "#include \"%s\"\n", path);
}

void kiln_template_mark_generated(const struct kiln_template_inclusion *inclusion,
                                  struct kiln_buffer *source)
{
    if (!inclusion->is_outline)
        kiln_buffer_append_text(source, "#line 1 \"generated\"\n");
}
