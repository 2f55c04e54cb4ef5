#include "cache/cache_census.h"

#include "cache/cache_walk.h"
#include "cache/entry_file.h"
#include "runtime/support/log.h"
#include "runtime/support/temporary_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS ((int64_t)1000000000)

/* How old a temporary file is when even a writer that nothing is known of must have given up, and
 * how far ahead a time may lie before it is no difference of clocks any more. */
#define PATIENCE_NS (3600 * SECOND_NS)

static int64_t to_ns(struct timespec time)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)time.tv_sec, SECOND_NS, &ns) ||
        __builtin_add_overflow(ns, (int64_t)time.tv_nsec, &ns))
        return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

static void date_record(struct kiln_cache_record *record, int64_t now_ns, int fanout,
                        const char *file, struct timespec time)
{
    record->file_ns = record->use_ns = to_ns(time);
    if (record->file_ns <= now_ns)
        return;
    record->use_ns = now_ns;
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT}, {.tv_sec = now_ns / SECOND_NS, .tv_nsec = now_ns % SECOND_NS}};
    if (record->file_ns - now_ns > PATIENCE_NS &&
        utimensat(fanout, file, times, AT_SYMLINK_NOFOLLOW) == 0)
        record->file_ns = now_ns;
}

static enum kiln_status add_record(struct kiln_cache_census *census,
                                   const struct kiln_cache_record *record, struct kiln_error *error)
{
    if (census->count == census->capacity) {
        size_t capacity = census->capacity != 0 ? 2 * census->capacity : 256;
        struct kiln_cache_record *records =
            realloc(census->records, capacity * sizeof *census->records);
        if (records == NULL)
            return kiln_error_set(error, KILN_NO_MEMORY,
                                  "out of memory while counting the cache's files");
        census->records = records;
        census->capacity = capacity;
    }
    census->records[census->count++] = *record;
    return KILN_OK;
}

static enum kiln_status count_file(void *context, enum kiln_cache_file_kind kind, int fanout,
                                   const char *fanout_name, const char *file,
                                   struct kiln_error *error)
{
    struct kiln_cache_census *census = context;
    struct stat attributes;
    if (fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) != 0)
        return KILN_OK; /* evicted or renamed by another process */
    bool is_directory = S_ISDIR(attributes.st_mode);
    if (is_directory && kind == KILN_CACHE_FILE_TEMPORARY)
        return KILN_OK;
    struct kiln_cache_record record = {.bytes = is_directory ? 0 : (uint64_t)attributes.st_size};
    date_record(&record, census->now_ns, fanout, file, attributes.st_mtim);
    if (kind == KILN_CACHE_FILE_TEMPORARY) {
        if ((record.use_ns < census->now_ns - PATIENCE_NS || kiln_temporary_name_is_orphan(file)) &&
            unlinkat(fanout, file, 0) == 0) {
            census->removed_files++;
            census->removed_bytes += record.bytes;
            return KILN_OK;
        }
        census->bytes += record.bytes;
        return KILN_OK;
    }
    record.is_impossible = !S_ISREG(attributes.st_mode) || record.bytes < KILN_ENTRY_HEADER_BYTES ||
                           record.bytes > KILN_ENTRY_LIMIT_BYTES;
    if (record.is_impossible)
        record.use_ns = INT64_MIN;
    (void)kiln_entry_name_parse(fanout_name, file, &record.id);
    census->bytes += record.bytes;
    return add_record(census, &record, error);
}

static int compare_records(const void *left, const void *right)
{
    const struct kiln_cache_record *a = left;
    const struct kiln_cache_record *b = right;
    if (a->is_impossible != b->is_impossible)
        return a->is_impossible ? -1 : 1;
    if (a->use_ns != b->use_ns)
        return a->use_ns < b->use_ns ? -1 : 1;
    if (a->id.hash.high != b->id.hash.high)
        return a->id.hash.high < b->id.hash.high ? -1 : 1;
    if (a->id.hash.low != b->id.hash.low)
        return a->id.hash.low < b->id.hash.low ? -1 : 1;
    return a->id.mark < b->id.mark ? -1 : a->id.mark > b->id.mark;
}

static void begin(struct kiln_cache_census *census)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *census = (struct kiln_cache_census){.now_ns = to_ns(now)};
}

enum kiln_status kiln_cache_census_take(const struct kiln_cache_directory *directory,
                                        struct kiln_cache_census *ret_census,
                                        struct kiln_error *error)
{
    struct kiln_cache_census census;
    begin(&census);
    enum kiln_status status = kiln_cache_walk(directory, count_file, NULL, &census, error);
    if (status == KILN_NO_MEMORY) {
        kiln_cache_census_fini(&census);
        return status;
    }
    kiln_error_init(error);
    *ret_census = census;
    return KILN_OK;
}

void kiln_cache_census_clean(int fanout, const char *fanout_name)
{
    struct kiln_cache_census census;
    struct kiln_error error;
    kiln_error_init(&error);
    begin(&census);
    if (kiln_cache_walk_temporary(fanout, fanout_name, count_file, &census, &error) != KILN_OK)
        kiln_log(KILN_LOG_INFO, "%s", error.text);
}

void kiln_cache_census_fini(struct kiln_cache_census *census)
{
    free(census->records);
    *census = (struct kiln_cache_census){0};
}

/* KILN_NOT_FOUND when somebody else has removed it, KILN_BAD_ARGUMENT when it was used since. */
static enum kiln_status remove_unused(const struct kiln_cache_directory *directory,
                                      const struct kiln_cache_record *record,
                                      struct kiln_error *error)
{
    struct kiln_entry_name name;
    kiln_entry_name_set_id(&name, &record->id);
    int fanout;
    enum kiln_status status =
        kiln_cache_directory_open_fanout(directory, name.fanout, false, &fanout, error);
    if (status != KILN_OK)
        return status;
    struct stat attributes;
    bool found = fstatat(fanout, name.file, &attributes, AT_SYMLINK_NOFOLLOW) == 0;
    if (found && to_ns(attributes.st_mtim) > record->file_ns)
        status = KILN_BAD_ARGUMENT;
    else if (!found || !kiln_cache_directory_clear_place(fanout, name.file))
        status = kiln_error_set(
            error, errno == ENOENT || errno == ESTALE ? KILN_NOT_FOUND : KILN_IO,
            "cannot remove the cache file '%s/%s/%s': %m", directory->path, name.fanout, name.file);
    (void)close(fanout);
    return status;
}

enum kiln_status kiln_cache_census_evict(struct kiln_cache_census *census,
                                         const struct kiln_cache_directory *directory,
                                         uint64_t target_bytes, int64_t since_ns,
                                         const struct kiln_hash128 *keep, struct kiln_error *error)
{
    enum kiln_status result = KILN_OK;
    for (size_t i = 0; i < census->count; i++)
        if (census->records[i].bytes > target_bytes)
            census->records[i].use_ns = INT64_MIN;
    if (census->count != 0)
        qsort(census->records, census->count, sizeof *census->records, compare_records);
    for (size_t i = 0; i < census->count; i++) {
        const struct kiln_cache_record *record = &census->records[i];
        if (census->bytes <= target_bytes && record->use_ns >= since_ns && !record->is_impossible)
            break;
        if (keep != NULL && keep->high == record->id.hash.high && keep->low == record->id.hash.low)
            continue;
        struct kiln_error failure;
        kiln_error_init(&failure);
        enum kiln_status status = remove_unused(directory, record, &failure);
        if (status == KILN_OK) {
            census->removed_files++;
            census->removed_bytes += record->bytes;
        }
        if (status == KILN_OK || status == KILN_NOT_FOUND) {
            census->bytes -= record->bytes;
        } else if (status != KILN_BAD_ARGUMENT && result == KILN_OK) {
            result = status;
            *error = failure;
        }
    }
    return result;
}
