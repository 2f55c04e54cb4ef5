#include "cli/graph_files.h"

#include "cli/hash_index.h"
#include "cli/input_file.h"
#include "cli/message.h"
#include "cli/text.h"
#include "runtime/engine/capture_counts.h"
#include "runtime/support/limited_sum.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
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
    file.place = files->count;
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

/* Sums over the files of counts in one directory. */
struct asked_counts {
    struct kiln_hash_index index;
    uint64_t *sums; /* owned */
    size_t capacity;
};

static void add_count(void *context, struct kiln_hash128 graph, uint64_t count)
{
    struct asked_counts *counts = context;
    size_t number = kiln_hash_index_put(&counts->index, graph, counts->index.count);
    if (number >= counts->capacity) {
        size_t capacity = counts->capacity ? counts->capacity * 2 : 256;
        uint64_t *grown = kiln_cli_calloc(capacity, sizeof(*grown));
        if (counts->capacity)
            memcpy(grown, counts->sums, counts->capacity * sizeof(*grown));
        free(counts->sums);
        counts->sums = grown;
        counts->capacity = capacity;
    }
    counts->sums[number] = kiln_limited_sum(counts->sums[number], count);
}

static void read_counts(const char *directory, char **names, size_t count,
                        struct asked_counts *counts)
{
    for (size_t i = 0; i < count; i++) {
        if (!has_suffix(names[i], KILN_CAPTURE_COUNTS_SUFFIX))
            continue;
        struct kiln_buffer content;
        struct kiln_error error;
        kiln_buffer_init(&content);
        kiln_error_init(&error);
        char *path = join(directory, names[i]);
        if (kiln_input_file_read(path, KILN_CAPTURE_COUNTS_LIMIT_BYTES, &content, &error))
            kiln_message_warning("'%s' does not count: %s", path, error.text);
        else
            kiln_capture_counts_read(content.data, content.size, counts, add_count);
        free(path);
        kiln_buffer_fini(&content);
    }
}

/* Captured graphs are named after the hash that is counted. */
static uint64_t asked_of(struct asked_counts *counts, const char *name)
{
    struct kiln_hash128 hash;
    int length = 0;
    if (!counts->index.count ||
        sscanf(name, "%16" SCNx64 "%16" SCNx64 "%n", &hash.high, &hash.low, &length) != 2 ||
        length != 32 || name[length] != '.')
        return 0;
    size_t known = counts->index.count;
    size_t number = kiln_hash_index_put(&counts->index, hash, known);
    return number < known && number < counts->capacity ? counts->sums[number] : 0;
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
    struct asked_counts counts = {0};
    if (status != KILN_OK)
        append_trouble(files, path, &error);
    read_counts(path, names, count, &counts);
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
            append(files, (struct kiln_graph_file){.path = child,
                                                   .is_found = true,
                                                   .asked = asked_of(&counts, names[i])});
            child = NULL;
        }
        free(child);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    free(counts.sums);
    kiln_hash_index_fini(&counts.index);
}

void kiln_graph_files_add(struct kiln_graph_files *files, const char *path)
{
    struct stat info;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        add_directory(files, path, 0);
    else
        append(files, (struct kiln_graph_file){.path = kiln_cli_strdup(path)});
}

static int compare_asked(const void *one, const void *other)
{
    const struct kiln_graph_file *a = one;
    const struct kiln_graph_file *b = other;
    if (a->asked != b->asked)
        return a->asked > b->asked ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

void kiln_graph_files_sort(struct kiln_graph_files *files)
{
    if (files->count)
        qsort(files->files, files->count, sizeof(*files->files), compare_asked);
}
