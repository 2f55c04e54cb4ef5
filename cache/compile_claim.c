#include "cache/compile_claim.h"

#include "cache/cache_store_state.h"
#include "runtime/support/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SHORTEST_PAUSE_MILLISECONDS = 1,
    LONGEST_PAUSE_MILLISECONDS = 20,
    MACHINE_DIGITS = 16,
};

static const char prefix[] = ".kiln-";

void kiln_compile_claim_open(struct kiln_compile_claim *claim, struct kiln_cache_store *store,
                             const struct kiln_cache_key *key, uint64_t mark)
{
    *claim = (struct kiln_compile_claim){.fanout = -1};
    struct kiln_entry_name entry;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    kiln_entry_name_set(&entry, key, mark);
    if (!kiln_cache_store_has_directory(store) ||
        kiln_cache_directory_open_fanout(&store->directory, entry.fanout, true, &claim->fanout,
                                         &ignored) != KILN_OK) {
        claim->fanout = -1;
        return;
    }
    memcpy(claim->entry, entry.file, sizeof claim->entry);
    /* Only processes of this machine and of our own number space: of those it can be told whether
     * they live, and what they write is seen at once. */
    char owner[KILN_TEMPORARY_NAME_BYTES];
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_temporary_name_make(owner, 0);
    const char *machine = owner + sizeof prefix - 1;
    if (strspn(machine, "0") >= MACHINE_DIGITS) { /* it could not be found out */
        kiln_compile_claim_close(claim);
        return;
    }
    kiln_cache_key_hex(key, hex);
    (void)snprintf(claim->name, sizeof claim->name, "%s%s-%.*s-%016" PRIx64 ".tmp", prefix, hex,
                   MACHINE_DIGITS, machine, mark);
}

static bool make(struct kiln_compile_claim *claim)
{
    char owner[KILN_TEMPORARY_NAME_BYTES];
    kiln_temporary_name_make(owner, 0);
    if (symlinkat(owner, claim->fanout, claim->name) != 0)
        return false;
    memcpy(claim->owner, owner, sizeof owner);
    return true;
}

/* False when there is no claim. */
static bool read_owner(const struct kiln_compile_claim *claim,
                       char ret_owner[KILN_TEMPORARY_NAME_BYTES])
{
    ssize_t size = readlinkat(claim->fanout, claim->name, ret_owner, KILN_TEMPORARY_NAME_BYTES - 1);
    if (size < 0)
        return false;
    ret_owner[size] = '\0';
    return true;
}

/* False when the owner's claim stays, in a directory that cannot be written any more. */
static bool drop(const struct kiln_compile_claim *claim, const char *owner)
{
    char now[KILN_TEMPORARY_NAME_BYTES];
    return !read_owner(claim, now) || strcmp(now, owner) != 0 ||
           unlinkat(claim->fanout, claim->name, 0) == 0 || errno == ENOENT;
}

enum kiln_claim kiln_compile_claim_take(struct kiln_compile_claim *claim, uint64_t deadline)
{
    int pause = SHORTEST_PAUSE_MILLISECONDS;
    bool has_waited = false;
    if (claim->fanout < 0)
        return KILN_CLAIM_NONE;
    for (;;) {
        char owner[KILN_TEMPORARY_NAME_BYTES];
        /* Processes that have waited do not take a claim that was given up, for others to wait
         * again: where it left no entry, the program does not compile or cannot be stored. */
        if (!has_waited) {
            if (make(claim))
                return KILN_CLAIM_TAKEN;
            if (errno != EEXIST)
                return KILN_CLAIM_NONE;
        }
        if (!read_owner(claim, owner))
            return KILN_CLAIM_WAITED;
        if (kiln_temporary_name_is_orphan(owner)) {
            if (!drop(claim, owner))
                return KILN_CLAIM_NONE;
            has_waited = false;
            continue;
        }
        if (faccessat(claim->fanout, claim->entry, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return KILN_CLAIM_WAITED;
        if (kiln_monotonic_milliseconds() >= deadline) {
            (void)drop(claim, owner); /* so that nobody else waits for it */
            return KILN_CLAIM_NONE;
        }
        (void)poll(NULL, 0, pause);
        has_waited = true;
        if (pause < LONGEST_PAUSE_MILLISECONDS)
            pause *= 2;
    }
}

void kiln_compile_claim_close(struct kiln_compile_claim *claim)
{
    if (claim->fanout < 0)
        return;
    if (claim->owner[0] != '\0')
        (void)drop(claim, claim->owner);
    (void)close(claim->fanout);
    claim->fanout = -1;
}
