/* Lists of graphs in files. */
#include "cli/graph_files.h"

#include "cli/input_file.h"
#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANIFEST_LIMIT_BYTES = 256 << 20 };

/* Bytes of `manifest` that name its folder, with the slash; 0 for the current one. */
static size_t folder_length(const char *manifest)
{
    const char *slash = strrchr(manifest, '/');
    return slash ? (size_t)(slash - manifest) + 1 : 0;
}

/* "-" is a file of that name here: standard input may hold one graph, not some among many. */
static char *path_of_line(const char *manifest, size_t folder, const char *line, size_t length)
{
    if (*line == '/')
        folder = 0;
    bool is_dash = folder == 0 && length == 1 && *line == '-';
    char *path = kiln_cli_calloc(folder + length + sizeof("./"), 1);
    sprintf(path, "%.*s%s%.*s", (int)folder, manifest, is_dash ? "./" : "", (int)length, line);
    return path;
}

static enum kiln_status add_lines(struct kiln_graph_files *files, const char *manifest,
                                  const struct kiln_buffer *text, struct kiln_error *error)
{
    size_t folder = strcmp(manifest, "-") == 0 ? 0 : folder_length(manifest);
    const char *at = kiln_buffer_text(text);
    const char *end = at + text->size;
    if (text->size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) /* byte order mark */
        at += 3;
    for (unsigned long number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        size_t length = (size_t)((newline ? newline : end) - at);
        if (memchr(at, '\0', length)) {
            (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "line %lu of manifest '%s' is no text",
                                 number, manifest);
            kiln_error_hint(error, "a manifest has the path of one graph per line");
            return error->status;
        }
        if (length && at[length - 1] == '\r')
            length--;
        if (length && *at != '#') {
            char *path = path_of_line(manifest, folder, at, length);
            kiln_graph_files_add(files, path);
            free(path);
        }
        at = next;
    }
    return KILN_OK;
}

enum kiln_status kiln_graph_files_add_manifest(struct kiln_graph_files *files, const char *manifest,
                                               struct kiln_error *error)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    enum kiln_status status = kiln_input_file_read(manifest, MANIFEST_LIMIT_BYTES, &text, error);
    if (status == KILN_OK)
        status = add_lines(files, manifest, &text, error);
    else
        kiln_error_prefix(error, "manifest '%s'", manifest);
    kiln_buffer_fini(&text);
    return status;
}
