#include "cache/cache_budget.h"

#include "cache/cache_census.h"
#include "cache/cache_warning.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void kiln_cache_budget_init(struct kiln_cache_budget *budget, uint64_t max_bytes)
{
    budget->max_bytes = max_bytes;
    atomic_init(&budget->uncounted_bytes, 0);
    atomic_init(&budget->started_by, 0);
    atomic_init(&budget->counting, 0);
}

static void evict(const struct kiln_cache_budget *budget, struct kiln_cache_census *census,
                  const struct kiln_cache_directory *directory, const struct kiln_hash128 *keep)
{
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_cache_census_evict(census, directory, budget->max_bytes - budget->max_bytes / 10,
                                INT64_MIN, keep, &error) != KILN_OK)
        kiln_cache_warn_once("evict", error.text, "the cache cannot be kept within its limit: %s",
                             error.text);
}

static void count(struct kiln_cache_budget *budget, const struct kiln_cache_directory *directory,
                  const struct kiln_hash128 *keep)
{
    int64_t process = getpid();
    int64_t counting = atomic_load(&budget->counting);
    if (counting == process ||
        !atomic_compare_exchange_strong(&budget->counting, &counting, process))
        return;
    atomic_store(&budget->uncounted_bytes, 0);
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_cache_census census;
    if (kiln_cache_census_take(directory, &census, &error) == KILN_OK) {
        if (census.bytes > budget->max_bytes)
            evict(budget, &census, directory, keep);
        if (census.removed_files != 0)
            kiln_log(KILN_LOG_INFO,
                     "removed %" PRIu64 " %s of %" PRIu64 " bytes from the cache; %" PRIu64
                     " bytes are left",
                     census.removed_files, KILN_NOUN(census.removed_files, "file"),
                     census.removed_bytes, census.bytes);
        kiln_cache_census_fini(&census);
    } else {
        kiln_cache_warn_once("count", error.text, "the cache's files are not counted: %s",
                             error.text);
    }
    atomic_store(&budget->counting, 0);
}

static uint64_t draw(uint64_t limit)
{
    uint64_t bits;
    struct timespec now;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        bits = (uint64_t)now.tv_nsec * 2654435761U ^ (uint64_t)getpid();
    }
    return limit != 0 ? bits % limit : 0;
}

void kiln_cache_budget_spend(struct kiln_cache_budget *budget,
                             const struct kiln_cache_directory *directory, struct kiln_hash128 hash,
                             size_t bytes)
{
    if (budget->max_bytes == 0)
        return;
    uint64_t share = budget->max_bytes / KILN_CACHE_BUDGET_SHARE;
    int64_t process = getpid();
    int64_t starter = atomic_load(&budget->started_by);
    if (starter != process &&
        atomic_compare_exchange_strong(&budget->started_by, &starter, process))
        atomic_store(&budget->uncounted_bytes, draw(share));
    if (atomic_fetch_add(&budget->uncounted_bytes, bytes) + bytes >= share)
        count(budget, directory, &hash);
}
