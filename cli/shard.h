/*
 * One of several equal jobs that share the graphs between them: --shard I/N.
 */
#ifndef KILN_CLI_SHARD_H
#define KILN_CLI_SHARD_H

#include "runtime/support/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum { KILN_SHARD_LIMIT = 1 << 20 };

struct kiln_shard {
    uint32_t index; /* from 1 */
    uint32_t count; /* 0: everything is in the one shard */
};

/* "2/8"; false for anything but two numbers with 1 <= I <= N <= KILN_SHARD_LIMIT. */
bool kiln_shard_parse(const char *text, struct kiln_shard *ret_shard);

/* True if the hash belongs to this shard. Exactly one of `count` shards has it. Only the hash and
 * the count decide which one. */
bool kiln_shard_has(const struct kiln_shard *shard, struct kiln_hash128 hash);

#endif
