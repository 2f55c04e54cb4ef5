#include "cli/graph_files.h"

#include "cli/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Deeper trees are no collection of graphs, and each level holds a directory open. */
enum { MAX_DEPTH = 32 };

void kiln_graph_files_init(struct kiln_graph_files *files)
{
    memset(files, 0, sizeof(*files));
}

void kiln_graph_files_fini(struct kiln_graph_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].path);
        free(files->files[i].trouble);
    }
    free(files->files);
    kiln_graph_files_init(files);
}

static void append(struct kiln_graph_files *files, struct kiln_graph_file file)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? files->capacity * 2 : 64;
        struct kiln_graph_file *grown = kiln_cli_calloc(capacity, sizeof(*grown));
        if (files->count)
            memcpy(grown, files->files, files->count * sizeof(*grown));
        free(files->files);
        files->files = grown;
        files->capacity = capacity;
    }
    files->files[files->count++] = file;
}

static void append_trouble(struct kiln_graph_files *files, const char *path,
                           const struct kiln_error *error)
{
    append(files, (struct kiln_graph_file){.path = kiln_cli_strdup(path),
                                           .trouble = kiln_cli_strdup(error->text)});
}

static char *join(const char *directory, const char *name)
{
    size_t length = strlen(directory);
    bool has_slash = length > 0 && directory[length - 1] == '/';
    char *path = kiln_cli_calloc(length + strlen(name) + 2, 1);
    sprintf(path, "%s%s%s", directory, has_slash ? "" : "/", name);
    return path;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static bool has_binary_beside(char **names, size_t count, const char *json_name)
{
    char *binary = kiln_cli_calloc(strlen(json_name) + 1, 1);
    size_t stem = strlen(json_name) - strlen(".json");
    sprintf(binary, "%.*s.bin", (int)stem, json_name);
    bool found = bsearch(&binary, names, count, sizeof(*names), compare_names) != NULL;
    free(binary);
    return found;
}

static enum kiln_status list_directory(const char *path, char ***ret_names, size_t *ret_count,
                                       struct kiln_error *error)
{
    DIR *directory = opendir(path);
    if (!directory) {
        return kiln_error_set(error, KILN_IO, "cannot read directory '%s': %s", path,
                              strerror(errno));
    }
    char **names = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            char **grown = kiln_cli_calloc(capacity, sizeof(*grown));
            if (count)
                memcpy(grown, names, count * sizeof(*grown));
            free(names);
            names = grown;
        }
        names[count++] = kiln_cli_strdup(entry->d_name);
    }
    int read_errno = errno;
    closedir(directory);
    if (read_errno) {
        for (size_t i = 0; i < count; i++)
            free(names[i]);
        free(names);
        return kiln_error_set(error, KILN_IO, "cannot read directory '%s': %s", path,
                              strerror(read_errno));
    }
    if (count)
        qsort(names, count, sizeof(*names), compare_names);
    *ret_names = names;
    *ret_count = count;
    return KILN_OK;
}

static void add_directory(struct kiln_graph_files *files, const char *path, int depth)
{
    char **names = NULL;
    size_t count = 0;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status =
        depth > MAX_DEPTH
            ? kiln_error_set(&error, KILN_IO, "directory '%s' is nested more than %d deep", path,
                             MAX_DEPTH)
            : list_directory(path, &names, &count, &error);
    if (status != KILN_OK)
        append_trouble(files, path, &error);
    for (size_t i = 0; i < count; i++) {
        char *child = join(path, names[i]);
        struct stat link_info;
        struct stat info;
        if (lstat(child, &link_info) != 0) {
            if (errno != ENOENT) { /* else somebody has just removed it */
                (void)kiln_error_set(&error, KILN_IO, "cannot look at '%s': %m", child);
                append_trouble(files, child, &error);
            }
        } else if (S_ISDIR(link_info.st_mode)) {
            add_directory(files, child, depth + 1);
        } else if (stat(child, &info) == 0 && S_ISREG(info.st_mode) &&
                   (has_suffix(names[i], ".bin") || (has_suffix(names[i], ".json") &&
                                                     !has_binary_beside(names, count, names[i])))) {
            append(files, (struct kiln_graph_file){.path = child, .is_found = true});
            child = NULL;
        }
        free(child);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

void kiln_graph_files_add(struct kiln_graph_files *files, const char *path)
{
    struct stat info;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        add_directory(files, path, 0);
    else
        append(files, (struct kiln_graph_file){.path = kiln_cli_strdup(path)});
}
