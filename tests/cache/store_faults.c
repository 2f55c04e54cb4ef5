/*
 * Every file-system call that the store makes fails once, in every way of a list, and again from
 * there on for good. Each time: whatever the store does succeeds or says clearly why not, nothing
 * wrong is ever found, nothing leaks, and the next run without faults is healthy.
 *
 * usage: store_faults [all]
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_warning.h"
#include "cache/entry_file.h"
#include "cache/pack_file.h"
#include "runtime/support/log.h"
#include "runtime/support/temporary_name.h"

#include "tests/cache/fault_wrappers.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/test_share.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
    struct fault fault;
    /* Without "all" on the command line only every so manieth call fails, since the whole takes
     * minutes; 0: none. Of those a part, where test_share.h says so. */
    unsigned stride;
} fault_list[] = {
    {{FAULT_ONCE, EIO}, 1},     {{FAULT_ONCE, ENOSPC}, 5},  {{FAULT_ONCE, EDQUOT}, 0},
    {{FAULT_ONCE, EACCES}, 5},  {{FAULT_ONCE, ESTALE}, 5},  {{FAULT_ONCE, ENOENT}, 5},
    {{FAULT_ONCE, EINTR}, 5},   {{FAULT_ONCE, EMFILE}, 0},  {{FAULT_STAYS, ENOSPC}, 7},
    {{FAULT_STAYS, EIO}, 7},    {{FAULT_STAYS, EROFS}, 0},  {{FAULT_STAYS, EACCES}, 0},
    {{FAULT_STAYS, ESTALE}, 7}, {{FAULT_STAYS, ENOENT}, 0}, {{FAULT_LATE, EIO}, 5},
    {{FAULT_SHORT, 0}, 5},
};

enum {
    OLD = 0,
    DAMAGED = 1,
    LAYERED = 10,
    ABSENT = 11,
    NEW = 12,
    IMPORTED = 13,
    PACKED = 14,
    KEYS = 15,
    ENTRY_BYTES = 2000,
    BUDGET_BYTES = 12000, /* six of the entries: an insert evicts */
};

static char directory[2048];
static char tiers[4200];                       /* a directory with LAYERED and a pack with PACKED */
static char orphan[KILN_TEMPORARY_NAME_BYTES]; /* of a process that is gone */
static unsigned faults;
static unsigned warnings;
static const char *activity;

static void fault(const char *text)
{
    if (faults++ < 20)
        (void)fprintf(stderr, "fault: %s: %s (%s)\n", activity, text, fault_wrappers_describe());
}

static void hear(enum kiln_log_level level, const char *message)
{
    (void)message;
    warnings += level >= KILN_LOG_WARN;
}

/* The store may fail, with a sentence. */
static bool went_well(enum kiln_status status, const struct kiln_error *error)
{
    if (status != KILN_OK && (error->status != status || strlen(error->text) < 10))
        fault("a failure without a sentence");
    if (status == KILN_CORRUPT || status == KILN_INTERNAL)
        fault(error->text);
    return status == KILN_OK;
}

static struct kiln_cache_store *open_store(const char *path, uint64_t max_bytes, const char *layers)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    const struct kiln_cache_options options = {.directory = path,
                                               .max_bytes = &max_bytes,
                                               .layers = layers,
                                               .system_layer = "",
                                               .remote = ""};
    return went_well(kiln_cache_store_open(&options, &store, &error), &error) ? store : NULL;
}

static bool insert(struct kiln_cache_store *store, unsigned number)
{
    static unsigned char payload[ENTRY_BYTES];
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_cache_key key = sample_key(number);
    sample_payload_fill(payload, sizeof payload, number, number);
    enum kiln_status status =
        kiln_cache_store_insert(store, &key, NULL, payload, sizeof payload, &error);
    kiln_cache_key_fini(&key);
    return went_well(status, &error);
}

static bool look_up(struct kiln_cache_store *store, unsigned number)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_cache_key key = sample_key(number);
    void *payload = NULL;
    size_t size = 0;
    enum kiln_status status = kiln_cache_store_lookup(store, &key, &payload, &size, &error);
    kiln_cache_key_fini(&key);
    bool found = went_well(status, &error);
    if (!found && status != KILN_NOT_FOUND)
        fault("neither a hit nor a miss");
    if (found && (size != ENTRY_BYTES || !sample_payload_is_whole(payload, size, number)))
        fault("a wrong payload");
    free(payload);
    return found;
}

/* By the hash of the key alone. */
static bool look_up_named(struct kiln_cache_store *store, unsigned number)
{
    struct kiln_error error;
    struct kiln_cache_key key = sample_key(number);
    const struct kiln_hash128 name = {.high = key.hash_high, .low = key.hash_low};
    const struct kiln_cache_key name_key = kiln_cache_key_of_hash(name);
    /* Another compiler than that of the entries, so that the fan-out directory is listed too. */
    const struct kiln_cache_query query = {
        .key = &name_key, .compiler = "another", .reach = KILN_CACHE_ALL};
    struct kiln_cache_found found;
    kiln_error_init(&error);
    enum kiln_status status = kiln_cache_store_find(store, &query, &found, &error);
    bool is_found = went_well(status, &error);
    if (!is_found && status != KILN_NOT_FOUND)
        fault("neither a hit nor a miss");
    if (is_found &&
        (!kiln_entry_view_has_key(&found.view, &key) || found.view.payload_bytes != ENTRY_BYTES ||
         !sample_payload_is_whole(found.view.payload, found.view.payload_bytes, number)))
        fault("a wrong entry");
    if (is_found)
        kiln_cache_found_fini(&found);
    kiln_cache_key_fini(&key);
    (void)kiln_cache_store_note_use(store, name, 1, true);
    return is_found;
}

static void path_of(unsigned number, char path[4096])
{
    struct kiln_cache_key key = sample_key(number);
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, &key, 0);
    kiln_cache_key_fini(&key);
    (void)snprintf(path, 4096, "%s/%s/%s", directory, name.fanout, name.file);
}

static void age(unsigned number, int64_t seconds)
{
    char path[4096];
    path_of(number, path);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    if (utimensat(AT_FDCWD, path, times, 0) != 0)
        fault("cannot set a time");
}

/* A directory with an entry whose use is to be noted, one of the future, a damaged one, and what a
 * dead writer has left. */
static void prepare(void)
{
    activity = "prepare";
    struct kiln_cache_store *store = open_store(directory, 0, "");
    struct kiln_error error;
    struct kiln_cache_cleared cleared;
    kiln_error_init(&error);
    if (store == NULL || kiln_cache_store_clear(store, &cleared, &error) != KILN_OK) {
        (void)fprintf(stderr, "cannot prepare: %s\n", error.text);
        exit(1);
    }
    for (unsigned i = 0; i < 6; i++)
        (void)insert(store, i);
    kiln_cache_store_close(store);
    age(OLD, 10000);
    age(3, 9000);
    age(4, 8000);
    age(5, -100000);
    char path[4096];
    path_of(DAMAGED, path);
    if (truncate(path, 500) != 0)
        fault("cannot damage an entry");
    (void)strcpy(strrchr(path, '/') + 1, orphan);
    int descriptor = open(path, O_WRONLY | O_CREAT, 0600);
    if (descriptor < 0 || close(descriptor) != 0)
        fault("cannot leave a temporary file");
    path_of(NEW, path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path); /* so that the insert creates it */
}

static enum kiln_status see_item(void *context, const struct kiln_cache_item *item,
                                 struct kiln_error *error)
{
    (void)error;
    *(unsigned *)context += strlen(item->hex) == KILN_CACHE_HASH_HEX;
    return KILN_OK;
}

static void use_inventory(struct kiln_cache_store *store)
{
    struct kiln_error error;
    struct kiln_cache_stats stats;
    unsigned seen = 0;
    kiln_error_init(&error);
    (void)went_well(kiln_cache_store_stats(store, &stats, &error), &error);
    kiln_error_init(&error);
    (void)went_well(kiln_cache_store_verify(store, NULL, NULL, &stats, &error), &error);
    kiln_error_init(&error);
    (void)went_well(kiln_cache_store_list(store, see_item, &seen, &error), &error);
    struct kiln_cache_key key = sample_key(LAYERED);
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(&key, hex);
    struct kiln_cache_item item;
    struct kiln_buffer bytes;
    struct kiln_entry_view view;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    (void)went_well(kiln_cache_store_read(store, hex, &item, &bytes, &view, &error), &error);
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);

    key = sample_key(IMPORTED);
    static unsigned char payload[ENTRY_BYTES];
    bool added;
    sample_payload_fill(payload, sizeof payload, IMPORTED, 1);
    kiln_error_init(&error);
    if (kiln_entry_encode(&key, NULL, payload, sizeof payload, &bytes, &error) == KILN_OK)
        (void)went_well(
            kiln_cache_store_insert_entry(store, bytes.data, bytes.size, &added, &error), &error);
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);

    const struct kiln_cache_prune prune = {.max_bytes = 5000, .max_age_s = 5000};
    struct kiln_cache_pruned pruned;
    kiln_error_init(&error);
    (void)went_well(kiln_cache_store_prune(store, &prune, &pruned, &error), &error);
}

/* All that a process does with a store. */
static void exercise(struct fault what)
{
    activity = "open";
    struct kiln_cache_store *store = open_store(directory, BUDGET_BYTES, tiers);
    if (store == NULL)
        return;
    activity = "look up";
    bool was_there = look_up(store, OLD);
    if (look_up(store, DAMAGED))
        fault("a damaged entry is a hit");
    if (look_up(store, ABSENT))
        fault("an absent entry is a hit");
    bool was_layered = look_up(store, LAYERED);
    was_layered = look_up(store, PACKED) && was_layered;
    activity = "look up by name";
    was_there = look_up_named(store, OLD) && was_there;
    was_layered = look_up_named(store, PACKED) && was_layered;
    if (look_up_named(store, ABSENT))
        fault("an absent entry is a hit");
    activity = "insert";
    bool inserted = insert(store, NEW);
    activity = "look up again";
    bool found = look_up(store, NEW);
    if (what.kind == FAULT_NONE && !(was_there && was_layered && inserted && found))
        fault("not all of it works without a fault");
    activity = "replace";
    (void)insert(store, OLD);
    (void)look_up(store, OLD);
    activity = "inventory";
    use_inventory(store);
    activity = "close";
    kiln_cache_store_close(store);
}

/* No entry is damaged but the one that was prepared so. */
static void judge_file(void *context, const char *file, bool ok, const char *reason)
{
    (void)context;
    char path[4096];
    path_of(DAMAGED, path);
    if (!ok && strstr(path, file) == NULL)
        fault(reason);
}

/* The next run: nothing wrong is found, whatever is missing can be written, and then all is there.
 */
static void check_health(struct fault what)
{
    activity = "next run";
    struct kiln_error error;
    struct kiln_cache_stats stats = {0};
    kiln_error_init(&error);
    struct kiln_cache_store *store = open_store(directory, 0, tiers);
    if (store == NULL) {
        fault("it cannot be opened");
        return;
    }
    if (kiln_cache_store_verify(store, judge_file, NULL, &stats, &error) != KILN_OK)
        fault(error.text);
    for (unsigned i = 0; i < KEYS; i++)
        (void)look_up(store, i);
    if (kiln_cache_store_verify(store, NULL, NULL, &stats, &error) != KILN_OK)
        fault(error.text);
    if (stats.damaged != 0)
        fault("a damaged entry was not removed");
    for (unsigned i = 0; i < KEYS; i++) {
        if (!insert(store, i) || !look_up(store, i))
            fault("an entry cannot be written and found");
    }
    if (kiln_cache_store_stats(store, &stats, &error) != KILN_OK)
        fault(error.text);
    /* Ours, whose removal failed as well as its writing: a living process's. They go an hour later.
     */
    if (stats.temporary_files > (what.kind == FAULT_STAYS ? 3 : 0))
        fault("temporary files are left");
    kiln_cache_store_close(store);
}

static int count_descriptors(void)
{
    return directory_count("/proc/self/fd");
}

static void make_orphan_name(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        kiln_temporary_name_make(orphan, 0);
        _exit(write(ends[1], orphan, sizeof orphan) != (ssize_t)sizeof orphan);
    }
    if (read(ends[0], orphan, sizeof orphan) != (ssize_t)sizeof orphan ||
        waitpid(child, NULL, 0) != child)
        exit(1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static bool make_layers(void)
{
    activity = "layers";
    const char *path = temporary_path("layer");
    const char *pack = temporary_path("pack");
    (void)snprintf(tiers, sizeof tiers, "%s:%s", path, pack);
    struct kiln_cache_store *store = open_store(path, 0, "");
    bool made = store != NULL && insert(store, LAYERED);
    kiln_cache_store_close(store);

    static unsigned char payload[ENTRY_BYTES];
    struct kiln_error error;
    struct kiln_cache_key key = sample_key(PACKED);
    struct kiln_buffer bytes;
    struct kiln_pack_writer *writer = NULL;
    bool added;
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    sample_payload_fill(payload, sizeof payload, PACKED, 1);
    made = made &&
           kiln_entry_encode(&key, NULL, payload, sizeof payload, &bytes, &error) == KILN_OK &&
           kiln_pack_writer_create(pack, &writer, &error) == KILN_OK &&
           kiln_pack_writer_add(writer, bytes.data, bytes.size, &added, &error) == KILN_OK &&
           kiln_pack_writer_finish(writer, &error) == KILN_OK;
    if (!made)
        fault(error.text);
    kiln_pack_writer_destroy(writer);
    kiln_buffer_fini(&bytes);
    kiln_cache_key_fini(&key);
    return made;
}

/* Returns how many calls were made. */
static unsigned long run(struct fault what, unsigned long at)
{
    prepare();
    kiln_cache_warnings_forget();
    warnings = 0;
    int descriptors = count_descriptors();
    fault_wrappers_arm(what, at);
    exercise(what);
    unsigned long made = fault_wrappers_disarm();
    /* One for the damaged entry, few for one cause in its different activities. */
    if (warnings > 8)
        fault("too many warnings");
    activity = "after";
    if (count_descriptors() != descriptors)
        fault("descriptors leak");
    check_health(what);
    return made;
}

int main(int argc, char **argv)
{
    bool all = argc == 2 && strcmp(argv[1], "all") == 0;
    if (temporary_directory_make() == NULL) {
        perror("cannot make a temporary directory");
        return 1;
    }
    (void)snprintf(directory, sizeof directory, "%s", temporary_path("cache"));
    kiln_log_set_sink(hear);
    kiln_log_set_level(KILN_LOG_WARN);
    make_orphan_name();
    if (!make_layers())
        return 1;

    (void)run((struct fault){.kind = FAULT_NONE}, 0);
    unsigned long most_calls = 0;
    unsigned long runs = 0;
    for (size_t i = 0; i < sizeof fault_list / sizeof *fault_list; i++) {
        unsigned stride = all ? 1 : fault_list[i].stride;
        unsigned long made = stride != 0 ? ULONG_MAX : 0;
        for (unsigned long at = 1; at <= made; at += stride) {
            if (!all && !test_share_has(at / stride))
                continue;
            made = run(fault_list[i].fault, at);
            runs++;
            most_calls = made > most_calls ? made : most_calls;
        }
    }
    if (most_calls < 100)
        fault("too few calls: nothing was tested");
    printf("%lu runs, up to %lu calls each; %u faults\n", runs, most_calls, faults);
    temporary_directory_remove();
    return faults == 0 ? 0 : 1;
}
