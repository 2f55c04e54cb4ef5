#include "cache/directory_lookup.h"

#include "cache/cache_warning.h"
#include "runtime/support/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kiln_status kiln_cache_judge(enum kiln_status status, const struct kiln_cache_key *key,
                                  const char *place, const char *file, const char *consequence,
                                  struct kiln_entry *entry, struct kiln_error *error)
{
    if (status == KILN_OK && kiln_entry_view_has_key(&entry->view, key))
        return KILN_OK;
    if (status == KILN_NOT_FOUND || status == KILN_NO_MEMORY)
        return status;
    if (status == KILN_OK) {
        kiln_entry_fini(entry);
        (void)kiln_error_set(error, KILN_NOT_FOUND, "it is of another key with the same hash");
    }
    /* A file that was removed is told once in any case. Others would be told with every kernel. */
    if (*consequence != '\0')
        kiln_log(KILN_LOG_WARN, "cache entry '%s/%.2s/%s' is not used%s: %s", place, file, file,
                 consequence, error->text);
    else
        kiln_cache_warn_once(place, error->text, "cache entry '%s/%.2s/%s' is not used: %s", place,
                             file, file, error->text);
    return KILN_NOT_FOUND;
}

/* One lookup, in the open fan-out directory. */
struct search {
    const struct kiln_cache_directory *directory;
    const struct kiln_cache_key *key;
    int fanout;
};

/* `mark`: the compiler that the entry has to be of, whatever its file is called; 0: any. */
static enum kiln_status try_file(const struct search *search, const char *file, uint64_t mark,
                                 struct kiln_entry *ret_entry, struct kiln_error *error)
{
    bool is_layer = search->directory->is_layer;
    const char *consequence = "";
    struct stat damaged;
    enum kiln_status status = kiln_entry_file_read(
        search->fanout, file, is_layer ? KILN_ENTRY_FILE_OF_LAYER : KILN_ENTRY_FILE_NOTE_USE,
        ret_entry, &damaged, error);
    if (status == KILN_CORRUPT && !is_layer &&
        kiln_entry_file_remove(search->fanout, file, &damaged))
        consequence = " and was removed";
    /* The sound entry of another key with the same hash stays: the insert that follows a miss
     * replaces it. */
    status = kiln_cache_judge(status, search->key, search->directory->path, file, consequence,
                              ret_entry, error);
    if (status == KILN_OK && mark != 0 && kiln_entry_view_mark(&ret_entry->view) != mark) {
        kiln_entry_fini(ret_entry);
        status = KILN_NOT_FOUND;
    }
    return status;
}

/* scandir's filter has no context argument; the hash is compared by the caller. */
static int is_of_some_compiler(const struct dirent *item)
{
    struct kiln_entry_file_id id;
    return kiln_entry_name_parse(item->d_name, item->d_name, &id) && id.mark != 0;
}

/* In bytes: alphasort compares by the locale. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The files of all compilers, in the order of their names. `plain` has the hash. */
static enum kiln_status try_all(const struct search *search, const char *plain,
                                struct kiln_entry *ret_entry, struct kiln_error *error)
{
    struct dirent **items = NULL;
    enum kiln_status status = KILN_NOT_FOUND;
    int count = scandirat(search->fanout, ".", &items, is_of_some_compiler, compare_names);
    if (count < 0 && errno == ENOMEM)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while listing the cache");
    for (int i = 0; i < count; i++) {
        if (status == KILN_NOT_FOUND && strncmp(items[i]->d_name, plain, KILN_CACHE_HASH_HEX) == 0)
            status = try_file(search, items[i]->d_name, 0, ret_entry, error);
        free(items[i]);
    }
    free(items);
    return status;
}

static enum kiln_status search_files(const struct search *search, enum kiln_entry_makers makers,
                                     uint64_t mark, struct kiln_entry *ret_entry,
                                     struct kiln_error *error)
{
    struct kiln_entry_name name;
    enum kiln_status status = KILN_NOT_FOUND;
    if (makers == KILN_ENTRY_OF_MARK) {
        kiln_entry_name_set(&name, search->key, mark);
        status = try_file(search, name.file, mark, ret_entry, error);
    } else {
        mark = 0;
    }
    kiln_entry_name_set(&name, search->key, 0);
    if (status == KILN_NOT_FOUND)
        status = try_file(search, name.file, mark, ret_entry, error);
    if (status == KILN_NOT_FOUND && makers == KILN_ENTRY_OF_ANY)
        status = try_all(search, name.file, ret_entry, error);
    return status;
}

enum kiln_status kiln_cache_directory_lookup(const struct kiln_cache_directory *directory,
                                             const struct kiln_cache_key *key,
                                             enum kiln_entry_makers makers, uint64_t mark,
                                             struct kiln_entry *ret_entry, struct kiln_error *error)
{
    struct search search = {.directory = directory, .key = key};
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key, makers == KILN_ENTRY_OF_MARK ? mark : 0);
    enum kiln_status status =
        kiln_cache_directory_open_fanout(directory, name.fanout, false, &search.fanout, error);
    if (status != KILN_OK)
        return kiln_cache_judge(status, key, directory->path, name.file, "", ret_entry, error);
    status = search_files(&search, makers, mark, ret_entry, error);
    (void)close(search.fanout);
    return status;
}
