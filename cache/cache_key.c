#include "cache/cache_key.h"

#include "runtime/support/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void kiln_cache_key_init(struct kiln_cache_key *key)
{
    kiln_buffer_init(&key->bytes);
    key->hash_high = 0;
    key->hash_low = 0;
    key->is_hash_only = false;
}

void kiln_cache_key_fini(struct kiln_cache_key *key)
{
    kiln_buffer_fini(&key->bytes);
    kiln_cache_key_init(key);
}

void kiln_cache_key_add(struct kiln_cache_key *key, const void *bytes, size_t size)
{
    kiln_buffer_append_field(&key->bytes, bytes, size);
}

void kiln_cache_key_add_text(struct kiln_cache_key *key, const char *text)
{
    kiln_cache_key_add(key, text, strlen(text));
}

enum kiln_status kiln_cache_key_finish(struct kiln_cache_key *key, struct kiln_error *error)
{
    if (key->bytes.failed)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while building a cache key");
    struct kiln_hash128 hash = kiln_hash128(key->bytes.data, key->bytes.size);
    key->hash_high = hash.high;
    key->hash_low = hash.low;
    return KILN_OK;
}

struct kiln_cache_key kiln_cache_key_of_hash(struct kiln_hash128 hash)
{
    struct kiln_cache_key key;
    kiln_cache_key_init(&key);
    key.hash_high = hash.high;
    key.hash_low = hash.low;
    key.is_hash_only = true;
    return key;
}

void kiln_cache_key_hex(const struct kiln_cache_key *key, char ret_hex[KILN_CACHE_HASH_HEX + 1])
{
    (void)snprintf(ret_hex, KILN_CACHE_HASH_HEX + 1, "%016" PRIx64 "%016" PRIx64, key->hash_high,
                   key->hash_low);
}
