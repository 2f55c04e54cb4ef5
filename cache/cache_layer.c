#include "cache/cache_layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
