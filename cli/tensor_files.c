#include "cli/tensor_files.h"

#include "cli/tensor_memory.h"
#include "cli/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool kiln_tensor_files_add(struct kiln_tensor_files *list, struct kiln_command_line *line)
{
    const char *option = kiln_option(line->option)->name;
    const char *equals = strchr(line->value, '=');
    if (equals == NULL || equals == line->value || !equals[1]) {
        kiln_command_line_fail(
            line, "the value is the uid or the name of a tensor, '=' and a file, as in 3=x.bin",
            "option '--%s' takes TENSOR=FILE, not '%s'", option, line->value);
        return false;
    }
    size_t length = (size_t)(equals - line->value);
    for (size_t i = 0; i < list->count; i++) {
        if (strlen(list->files[i].tensor) == length &&
            strncmp(list->files[i].tensor, line->value, length) == 0) {
            kiln_command_line_fail(line, NULL, "option '--%s' names the tensor '%s' twice", option,
                                   list->files[i].tensor);
            return false;
        }
    }
    struct kiln_tensor_file *grown = kiln_cli_calloc(list->count + 1, sizeof(*grown));
    if (list->count)
        memcpy(grown, list->files, list->count * sizeof(*grown));
    free(list->files);
    list->files = grown;
    char *tensor = kiln_cli_strdup(line->value);
    tensor[length] = '\0';
    grown[list->count++] = (struct kiln_tensor_file){.tensor = tensor, .path = equals + 1};
    return true;
}

static bool is_candidate(const struct kiln_tensor_files *list, const struct kiln_tensor *tensor)
{
    return kiln_tensor_has_memory(tensor) &&
           (tensor->role == KILN_TENSOR_OUTPUT) == list->are_outputs;
}

/* The option that it belongs to, near misses among the names, or all tensors with uid and name. */
static void add_hint(const struct kiln_tensor_files *list, const char *wanted, bool has_other_role,
                     const struct kiln_graph *graph, struct kiln_error *error)
{
    const char *other = list->are_outputs ? "input" : "output";
    const char **names = kiln_cli_calloc(graph->tensor_count, sizeof(*names));
    size_t count = 0;
    char hint[KILN_WORD_HINT_BYTES] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (!is_candidate(list, tensor))
            continue;
        if (*tensor->name)
            names[count++] = tensor->name;
        if (used < sizeof(hint))
            used += (size_t)snprintf(hint + used, sizeof(hint) - used,
                                     *tensor->name ? "%s%lld '%s'" : "%s%lld", used ? ", " : "",
                                     (long long)tensor->uid, tensor->name);
    }
    char near[KILN_WORD_HINT_BYTES];
    if (has_other_role)
        kiln_error_hint(error, "it is an %s: --%s", other, other);
    else if (kiln_word_hint(near, wanted, "", names, count))
        kiln_error_hint(error, "%s", near);
    else
        kiln_error_hint(error, "its %s are %s", list->are_outputs ? "outputs" : "inputs",
                        *hint ? hint : "none");
    free(names);
}

static enum kiln_status resolve(const struct kiln_tensor_files *list, struct kiln_tensor_file *file,
                                const struct kiln_graph *graph, struct kiln_error *error)
{
    const char *what = list->are_outputs ? "output" : "input";
    char *end = NULL;
    errno = 0;
    long long uid = strtoll(file->tensor, &end, 10);
    bool is_uid = *end == '\0' && errno == 0;
    size_t matches = 0;
    bool has_other_role = false;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        bool is_it = is_uid ? tensor->uid == uid : strcmp(tensor->name, file->tensor) == 0;
        has_other_role = has_other_role || (is_it && kiln_tensor_has_memory(tensor));
        if (!is_it || !is_candidate(list, tensor))
            continue;
        file->ordinal = i;
        matches++;
    }
    if (matches == 1)
        return KILN_OK;
    if (matches == 0) {
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT,
                             is_uid ? "the graph has no %s with uid %s"
                                    : "the graph has no %s with the name '%s'",
                             what, file->tensor);
        add_hint(list, is_uid ? "" : file->tensor, has_other_role, graph, error);
        return error->status;
    }
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "%zu %ss have the name '%s'", matches, what,
                         file->tensor);
    kiln_error_hint(error, "name it by its uid");
    return error->status;
}

enum kiln_status kiln_tensor_files_resolve(struct kiln_tensor_files *list,
                                           const struct kiln_graph *graph, struct kiln_error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        struct kiln_tensor_file *file = &list->files[i];
        enum kiln_status status = resolve(list, file, graph, error);
        if (status != KILN_OK)
            return status;
        for (size_t j = 0; j < i; j++)
            if (list->files[j].ordinal == file->ordinal)
                return kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' and '%s' are the same tensor",
                                      list->files[j].tensor, file->tensor);
    }
    return KILN_OK;
}

const char *kiln_tensor_files_find(const struct kiln_tensor_files *list, uint32_t ordinal)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->files[i].ordinal == ordinal)
            return list->files[i].path;
    return NULL;
}

void kiln_tensor_files_fini(struct kiln_tensor_files *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->files[i].tensor);
    free(list->files);
    *list = (struct kiln_tensor_files){.count = 0};
}
