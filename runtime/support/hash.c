#include "runtime/support/hash.h"

/* Compiled in here, and only here, so that the plugin does not depend on libxxhash.so. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct kiln_hash128 kiln_hash128(const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(size != 0 ? bytes : "", size);
    return (struct kiln_hash128){.high = hash.high64, .low = hash.low64};
}

uint64_t kiln_hash64(const void *bytes, size_t size)
{
    return XXH3_64bits(size != 0 ? bytes : "", size);
}
