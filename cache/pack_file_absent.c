/* NEEDSWORK: stands in for pack_file.c until that is there: a layer that is a file is left out with
 * a warning. */
#include "cache/pack_file.h"

enum kiln_status kiln_pack_file_open(const char *path, struct kiln_pack_file **ret_pack,
                                     struct kiln_error *error)
{
    (void)ret_pack;
    return kiln_error_set(error, KILN_IO, "cannot use '%s': this build knows no packs", path);
}

void kiln_pack_file_close(struct kiln_pack_file *pack)
{
    (void)pack;
}

size_t kiln_pack_file_entry_count(const struct kiln_pack_file *pack)
{
    (void)pack;
    return 0;
}

enum kiln_status kiln_pack_file_lookup(const struct kiln_pack_file *pack,
                                       const struct kiln_cache_key *key,
                                       struct kiln_buffer *ret_entry, struct kiln_error *error)
{
    (void)pack;
    (void)key;
    (void)ret_entry;
    return kiln_error_set(error, KILN_NOT_FOUND, "this build knows no packs");
}

enum kiln_status kiln_pack_file_read_entry(const struct kiln_pack_file *pack, size_t index,
                                           struct kiln_buffer *ret_entry, struct kiln_error *error)
{
    (void)pack;
    (void)index;
    (void)ret_entry;
    return kiln_error_set(error, KILN_NOT_FOUND, "this build knows no packs");
}
