#include "cache/cache_layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum kiln_status open_pack(const char *path, const struct stat *attributes,
                                  struct kiln_cache_layer *layer, struct kiln_error *error)
{
    if (!S_ISREG(attributes->st_mode))
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "cannot use '%s': it is neither a directory nor an ordinary file",
                              path);
    const char *reason = kiln_cache_directory_distrust(attributes, true);
    if (reason != NULL) {
        (void)kiln_error_set(error, KILN_IO, "cannot use '%s': %s", path, reason);
        kiln_cache_directory_distrust_hint(reason, path, error);
        return KILN_IO;
    }
    return kiln_pack_file_open(path, &layer->pack, error);
}

enum kiln_status kiln_cache_layer_open(const char *path, struct kiln_cache_layer *ret_layer,
                                       struct kiln_error *error)
{
    struct kiln_cache_layer layer = {.directory.descriptor = -1};
    struct stat attributes;
    if (stat(path, &attributes) != 0) {
        return kiln_error_set(error, kiln_status_of_errno(errno == ENOTDIR ? ENOENT : errno),
                              "cannot open '%s': %m", path);
    }
    layer.path = strdup(path);
    if (layer.path == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening '%s'", path);
    enum kiln_status status;
    if (S_ISDIR(attributes.st_mode))
        status = kiln_cache_directory_open_layer(path, &layer.directory, error);
    else
        status = open_pack(path, &attributes, &layer, error);
    if (status != KILN_OK) {
        kiln_cache_layer_close(&layer);
        return status;
    }
    *ret_layer = layer;
    return KILN_OK;
}

void kiln_cache_layer_close(struct kiln_cache_layer *layer)
{
    kiln_cache_directory_close(&layer->directory);
    if (layer->pack != NULL)
        kiln_pack_file_close(layer->pack);
    free(layer->path);
    *layer = (struct kiln_cache_layer){.directory.descriptor = -1};
}

static enum kiln_status look_up_file(const struct kiln_cache_directory *directory,
                                     const struct kiln_cache_key *key, struct kiln_entry *ret_entry,
                                     struct kiln_error *error)
{
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, key);
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(directory, name.fanout, false, &fanout, error);
    if (status != KILN_OK)
        return status;
    struct stat damaged;
    status = kiln_entry_file_read(fanout, name.file, KILN_ENTRY_FILE_OF_LAYER, ret_entry, &damaged,
                                  error);
    (void)close(fanout);
    return status;
}

enum kiln_status kiln_cache_layer_lookup(const struct kiln_cache_layer *layer,
                                         const struct kiln_cache_key *key,
                                         struct kiln_entry *ret_entry, struct kiln_error *error)
{
    if (layer->pack == NULL)
        return look_up_file(&layer->directory, key, ret_entry, error);
    struct kiln_entry entry;
    kiln_buffer_init(&entry.bytes);
    enum kiln_status status = kiln_pack_file_lookup(layer->pack, key, &entry.bytes, error);
    /* Verified by the pack already: this is for the view, and keeps to the folder's rule. */
    if (status == KILN_OK)
        status = kiln_entry_decode(entry.bytes.data, entry.bytes.size, &entry.view, error);
    if (status != KILN_OK) {
        kiln_buffer_fini(&entry.bytes);
        return status;
    }
    *ret_entry = entry;
    return KILN_OK;
}
