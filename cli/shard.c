#include "cli/shard.h"

static bool parse_number(const char **text, uint32_t *ret_number)
{
    const char *at = *text;
    uint32_t number = 0;
    while (*at >= '0' && *at <= '9' && number <= KILN_SHARD_LIMIT)
        number = number * 10 + (uint32_t)(*at++ - '0');
    bool is_number = at != *text && number >= 1 && number <= KILN_SHARD_LIMIT;
    *text = at;
    *ret_number = number;
    return is_number;
}

bool kiln_shard_parse(const char *text, struct kiln_shard *ret_shard)
{
    struct kiln_shard shard;
    if (!parse_number(&text, &shard.index) || *text++ != '/' ||
        !parse_number(&text, &shard.count) || *text != '\0' || shard.index > shard.count)
        return false;
    *ret_shard = shard;
    return true;
}

bool kiln_shard_has(const struct kiln_shard *shard, struct kiln_hash128 hash)
{
    return shard->count == 0 || hash.low % shard->count == shard->index - 1;
}
