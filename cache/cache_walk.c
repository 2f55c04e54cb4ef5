#include "cache/cache_walk.h"

#include "cache/entry_file.h"
#include "runtime/support/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* scandir's filter has no context argument; the fan-out name is checked by the caller. */
static int is_cache_file(const struct dirent *item)
{
    return kiln_entry_name_matches(item->d_name, item->d_name) ||
           kiln_file_is_temporary(item->d_name);
}

static enum kiln_status walk_fanout(int fanout, const char *fanout_name, kiln_cache_visitor visit,
                                    void *context, struct kiln_error *error)
{
    struct dirent **items;
    int count = scandirat(fanout, ".", &items, is_cache_file, alphasort);
    if (count < 0)
        return kiln_error_set(error, errno == ENOMEM ? KILN_NO_MEMORY : KILN_IO,
                              "cannot list the cache directory '%s': %m", fanout_name);
    enum kiln_status status = KILN_OK;
    for (int i = 0; i < count; i++) {
        const char *file = items[i]->d_name;
        if (status == KILN_OK && kiln_file_is_temporary(file))
            status = visit(context, KILN_CACHE_FILE_TEMPORARY, fanout, fanout_name, file, error);
        else if (status == KILN_OK && kiln_entry_name_matches(fanout_name, file))
            status = visit(context, KILN_CACHE_FILE_ENTRY, fanout, fanout_name, file, error);
        free(items[i]);
    }
    free(items);
    return status;
}

enum kiln_status kiln_cache_walk(const struct kiln_cache_directory *directory,
                                 kiln_cache_visitor visit, void *context, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (unsigned i = 0; i < 256 && status == KILN_OK; i++) {
        char name[KILN_ENTRY_FANOUT_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%02x", i & 0xff);
        int fanout;
        status = kiln_cache_directory_open_fanout(directory, name, false, &fanout, error);
        if (status == KILN_OK) {
            status = walk_fanout(fanout, name, visit, context, error);
            (void)close(fanout);
        } else if (status == KILN_NOT_FOUND) {
            /* Nothing was stored under these digits yet: no failure, so no sentence either. */
            kiln_error_init(error);
            status = KILN_OK;
        }
    }
    return status;
}
