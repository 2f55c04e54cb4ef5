#include "cache/cache_walk.h"

#include "cache/entry_file.h"
#include "runtime/support/temporary_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* scandir's filter has no context argument; the fan-out name is checked by the caller. */
static int is_cache_file(const struct dirent *item)
{
    return kiln_entry_name_matches(item->d_name, item->d_name) ||
           kiln_temporary_name_matches(item->d_name);
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

/* `ret_ended`: the visitor, not the directory, gave the status. */
static enum kiln_status walk_fanout(int fanout, const char *fanout_name,
                                    int (*filter)(const struct dirent *), kiln_cache_visitor visit,
                                    void *context, bool *ret_ended, struct kiln_error *error)
{
    struct names names;
    *ret_ended = false;
    enum kiln_status status = list(fanout, filter, &names);
    if (status == KILN_NOT_FOUND)
        return KILN_OK;
    if (status != KILN_OK)
        return kiln_error_set(error, status, "cannot list the cache directory '%s': %m",
                              fanout_name);
    for (int i = 0; i < names.count && status == KILN_OK; i++) {
        const char *file = names.items[i]->d_name;
        if (kiln_temporary_name_matches(file))
            status = visit(context, KILN_CACHE_FILE_TEMPORARY, fanout, fanout_name, file, error);
        else if (kiln_entry_name_matches(fanout_name, file))
            status = visit(context, KILN_CACHE_FILE_ENTRY, fanout, fanout_name, file, error);
    }
    *ret_ended = status != KILN_OK;
    free_names(&names);
    return status;
}

enum kiln_status kiln_cache_walk(const struct kiln_cache_directory *directory,
                                 kiln_cache_visitor visit, void *context, struct kiln_error *error)
{
    struct names names;
    enum kiln_status result = list(directory->descriptor, is_fanout, &names);
    if (result == KILN_NOT_FOUND)
        return KILN_OK;
    if (result != KILN_OK)
        return kiln_error_set(error, result, "cannot list the cache directory '%s': %m",
                              directory->path);
    bool ended = false;
    for (int i = 0; i < names.count && !ended; i++) {
        const char *name = names.items[i]->d_name;
        struct kiln_error failure;
        kiln_error_init(&failure);
        int fanout;
        enum kiln_status status =
            kiln_cache_directory_open_fanout(directory, name, false, &fanout, &failure);
        if (status == KILN_OK) {
            status = walk_fanout(fanout, name, is_cache_file, visit, context, &ended, &failure);
            if (status != KILN_OK && !ended)
                kiln_error_prefix(&failure, "cache '%s'", directory->path);
            (void)close(fanout);
        } else if (status == KILN_NOT_FOUND) {
            status = KILN_OK;
        }
        if (status != KILN_OK && (result == KILN_OK || ended)) {
            result = status;
            *error = failure;
        }
    }
    free_names(&names);
    return result;
}

enum kiln_status kiln_cache_walk_temporary(int fanout, const char *fanout_name,
                                           kiln_cache_visitor visit, void *context,
                                           struct kiln_error *error)
{
    bool ended;
    return walk_fanout(fanout, fanout_name, is_temporary, visit, context, &ended, error);
}
