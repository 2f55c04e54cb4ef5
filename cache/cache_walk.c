#include "cache/cache_walk.h"

#include "cache/entry_file.h"
#include "runtime/support/temporary_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* scandir's filter has no context argument; the fan-out name is checked by the caller. */
static int is_cache_file(const struct dirent *item)
{
    return kiln_entry_name_parse(item->d_name, item->d_name, NULL) ||
           kiln_temporary_name_matches(item->d_name);
}

/* Not what stands in new file systems and network directories too. */
static int is_content(const struct dirent *item)
{
    return item->d_name[0] != '.' && strcmp(item->d_name, "lost+found") != 0;
}

static int is_temporary(const struct dirent *item)
{
    return kiln_temporary_name_matches(item->d_name);
}

static int is_fanout(const struct dirent *item)
{
    return strlen(item->d_name) == 2 && strspn(item->d_name, "0123456789abcdef") == 2;
}

/* Not alphasort, which compares by the locale. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

struct names {
    struct dirent **items;
    int count;
};

static enum kiln_status list(int directory, int (*filter)(const struct dirent *),
                             struct names *ret_names)
{
    ret_names->count = scandirat(directory, ".", &ret_names->items, filter, compare_names);
    if (ret_names->count >= 0)
        return KILN_OK;
    /* A directory that is removed while it is open has nothing in it. */
    bool gone = errno == ENOENT || errno == ESTALE;
    return gone ? KILN_NOT_FOUND : errno == ENOMEM ? KILN_NO_MEMORY : KILN_IO;
}

static void free_names(struct names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static enum kiln_status visit_names(const struct names *names, int fanout, const char *fanout_name,
                                    kiln_cache_visitor visit, void *context,
                                    struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (int i = 0; i < names->count && status == KILN_OK; i++) {
        const char *file = names->items[i]->d_name;
        struct kiln_entry_file_id id;
        if (kiln_temporary_name_matches(file))
            status = visit(context, KILN_CACHE_FILE_TEMPORARY, fanout, fanout_name, file, error);
        else if (kiln_entry_name_parse(fanout_name, file, &id))
            status = visit(context,
                           id.format == KILN_ENTRY_FORMAT_VERSION ? KILN_CACHE_FILE_ENTRY
                                                                  : KILN_CACHE_FILE_OLD,
                           fanout, fanout_name, file, error);
    }
    return status;
}

/* Opens and lists a fan-out directory: both, or neither. */
static enum kiln_status open_and_list(const struct kiln_cache_directory *directory,
                                      const char *name, int *ret_fanout, struct names *ret_names,
                                      struct kiln_error *error)
{
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(directory, name, false, &fanout, error);
    if (status != KILN_OK)
        return status;
    status = list(fanout, is_cache_file, ret_names);
    if (status == KILN_OK) {
        *ret_fanout = fanout;
        return KILN_OK;
    }
    (void)kiln_error_set(error, status, "cannot list the directory '%s/%s': %m", directory->path,
                         name);
    (void)close(fanout);
    return status;
}

static enum kiln_status walk_fanout(const struct kiln_cache_directory *directory, const char *name,
                                    kiln_cache_visitor visit, kiln_cache_skipper skip,
                                    void *context, struct kiln_error *error)
{
    struct kiln_error failure;
    kiln_error_init(&failure);
    struct names files;
    int fanout;
    enum kiln_status status = open_and_list(directory, name, &fanout, &files, &failure);
    if (status == KILN_NOT_FOUND)
        return KILN_OK;
    if (status == KILN_NO_MEMORY)
        *error = failure;
    else if (status != KILN_OK)
        status = skip != NULL ? skip(context, name, failure.text, error) : KILN_OK;
    else {
        status = visit_names(&files, fanout, name, visit, context, error);
        free_names(&files);
        (void)close(fanout);
    }
    return status;
}

enum kiln_status kiln_cache_walk(const struct kiln_cache_directory *directory,
                                 kiln_cache_visitor visit, kiln_cache_skipper skip, void *context,
                                 struct kiln_error *error)
{
    struct names names;
    if (directory->descriptor < 0)
        return KILN_OK;
    enum kiln_status status = list(directory->descriptor, is_fanout, &names);
    if (status == KILN_NOT_FOUND)
        return KILN_OK;
    if (status != KILN_OK)
        return kiln_error_set(error, status, "cannot list the cache directory '%s': %m",
                              directory->path);
    for (int i = 0; i < names.count && status == KILN_OK; i++)
        status = walk_fanout(directory, names.items[i]->d_name, visit, skip, context, error);
    free_names(&names);
    return status;
}

static bool is_directory(int parent, const char *name)
{
    struct stat attributes;
    return fstatat(parent, name, &attributes, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(attributes.st_mode);
}

enum kiln_status kiln_cache_walk_recognize(const struct kiln_cache_directory *directory,
                                           bool *ret_is_cache, struct kiln_error *error)
{
    struct names names;
    enum kiln_status status = list(directory->descriptor, is_content, &names);
    if (status != KILN_OK && status != KILN_NOT_FOUND)
        return kiln_error_set(error, status, "cannot list the directory '%s': %m", directory->path);
    bool is_cache = status == KILN_NOT_FOUND || names.count == 0;
    for (int i = 0; status == KILN_OK && i < names.count && !is_cache; i++)
        is_cache = is_fanout(names.items[i]) &&
                   is_directory(directory->descriptor, names.items[i]->d_name);
    if (status == KILN_OK)
        free_names(&names);
    *ret_is_cache = is_cache;
    return KILN_OK;
}

enum kiln_status kiln_cache_walk_temporary(int fanout, const char *fanout_name,
                                           kiln_cache_visitor visit, void *context,
                                           struct kiln_error *error)
{
    struct names names;
    enum kiln_status status = list(fanout, is_temporary, &names);
    if (status == KILN_NOT_FOUND)
        return KILN_OK;
    if (status != KILN_OK)
        return kiln_error_set(error, status, "cannot list the cache directory '%s': %m",
                              fanout_name);
    status = visit_names(&names, fanout, fanout_name, visit, context, error);
    free_names(&names);
    return status;
}
