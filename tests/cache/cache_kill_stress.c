/*
 * Writers that are killed at random moments, half of them in a directory with a limit, half
 * without: no entry may be damaged, and what they leave behind may not add up: in each fan-out
 * directory no more temporary files than there were writers at a time.
 *
 * usage: cache_kill_stress [writers]
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "runtime/support/log.h"

#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/runtime/support/temporary_directory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Entries are large, so that most of a writer's time is in the middle of a file. */
enum { PARALLEL = 4, KEYS = 64, ENTRY_LIMIT = 512 * 1024, DELAY_LIMIT_US = 10000, PATIENCE = 8 };

static const uint64_t some_limit = (uint64_t)12 << 20; /* so that some are killed evicting */
static uint64_t max_bytes;
static const char *path;
static unsigned faults;

static void fault(const char *text)
{
    (void)fprintf(stderr, "fault: %s\n", text);
    faults++;
}

static void hear(enum kiln_log_level level, const char *message)
{
    if (level >= KILN_LOG_WARN)
        fault(message);
}

static struct kiln_cache_store *open_store(void)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    const struct kiln_cache_options options = {
        .directory = path, .max_bytes = &max_bytes, .layers = "", .system_layer = "", .remote = ""};
    if (kiln_cache_store_open(&options, &store, &error) != KILN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        _exit(1);
    }
    return store;
}

static void insert(struct kiln_cache_store *store, unsigned number, unsigned *state)
{
    static unsigned char payload[ENTRY_LIMIT];
    struct kiln_error error;
    kiln_error_init(&error);
    size_t size = SAMPLE_PAYLOAD_LEAST_BYTES +
                  sample_random(state) % (ENTRY_LIMIT - SAMPLE_PAYLOAD_LEAST_BYTES);
    sample_payload_fill(payload, size, number, sample_random(state));
    struct kiln_cache_key key = sample_key(number);
    if (kiln_cache_store_insert(store, &key, NULL, payload, size, &error) != KILN_OK)
        fault(error.text);
    kiln_cache_key_fini(&key);
}

static void write_for_ever(unsigned seed)
{
    unsigned state = seed;
    struct kiln_cache_store *store = open_store();
    for (;;)
        insert(store, sample_random(&state) % KEYS, &state);
}

static void look_up_all(struct kiln_cache_store *store, unsigned *hits)
{
    for (unsigned number = 0; number < KEYS; number++) {
        struct kiln_error error;
        kiln_error_init(&error);
        struct kiln_cache_key key = sample_key(number);
        void *payload = NULL;
        size_t size = 0;
        enum kiln_status status = kiln_cache_store_lookup(store, &key, &payload, &size, &error);
        if (status == KILN_OK)
            (*hits)++;
        else if (status != KILN_NOT_FOUND)
            fault(error.text);
        if (status == KILN_OK && !sample_payload_is_whole(payload, size, number))
            fault("a wrong payload");
        free(payload);
        kiln_cache_key_fini(&key);
    }
}

static struct kiln_cache_stats measure(struct kiln_cache_store *store)
{
    struct kiln_error error;
    struct kiln_cache_stats stats = {0};
    kiln_error_init(&error);
    if (kiln_cache_store_stats(store, &stats, &error) != KILN_OK)
        fault(error.text);
    return stats;
}

static void kill_writers(unsigned writers, uint64_t limit)
{
    path = temporary_path(limit != 0 ? "limited" : "unlimited");
    max_bytes = limit;
    struct kiln_cache_store *store = open_store();
    unsigned state = 1;
    unsigned hits = 0;
    unsigned interrupted = 0; /* batches that left a temporary file */
    uint64_t most_left = 0;
    unsigned started = 0;
    /* Few are killed while they write under a limit: where chance caught none, more are tried. */
    for (; started < writers || (interrupted == 0 && started < PATIENCE * writers);
         started += PARALLEL) {
        pid_t children[PARALLEL];
        for (unsigned i = 0; i < PARALLEL; i++) {
            children[i] = fork();
            if (children[i] == 0)
                write_for_ever(started + i + 1);
        }
        for (unsigned i = 0; i < PARALLEL; i++) {
            const struct timespec delay = {.tv_nsec =
                                               1000L * (sample_random(&state) % DELAY_LIMIT_US)};
            (void)nanosleep(&delay, NULL);
            int status = 0;
            if (children[i] < 0 || kill(children[i], SIGKILL) != 0 ||
                waitpid(children[i], &status, 0) != children[i] || !WIFSIGNALED(status))
                fault("a writer ended by itself");
        }
        uint64_t left = measure(store).temporary_files;
        interrupted += left != 0;
        most_left = left > most_left ? left : most_left;
        if (started % (25 * PARALLEL) == 0)
            look_up_all(store, &hits);
    }
    look_up_all(store, &hits);
    int places = directory_count(path);
    if (places <= 0 || most_left > PARALLEL * (uint64_t)places)
        fault("what killed writers leave adds up");

    /* Inserts clean up where they write. */
    for (unsigned number = 0; number < KEYS; number++)
        insert(store, number, &state);
    struct kiln_cache_stats stats = measure(store);
    if (stats.temporary_files != 0)
        fault("temporary files of dead writers stayed");
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_cache_store_verify(store, NULL, NULL, &stats, &error) != KILN_OK)
        fault(error.text);
    if (stats.damaged != 0)
        fault("a damaged entry");
    if (interrupted == 0 || hits == 0)
        fault("nobody was killed while writing: nothing was tested");
    printf(
        "limit %llu KiB: %u writers killed, files left after %u of %u batches, at most %llu at a "
        "time; %llu entries of %llu KiB, %llu damaged, %u hits; %u faults\n",
        (unsigned long long)limit >> 10, started, interrupted, started / PARALLEL,
        (unsigned long long)most_left, (unsigned long long)stats.entries,
        (unsigned long long)stats.bytes >> 10, (unsigned long long)stats.damaged, hits, faults);
    kiln_cache_store_close(store);
}

int main(int argc, char **argv)
{
    unsigned writers = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 400;
    if (temporary_directory_make() == NULL) {
        perror("cannot make a temporary directory");
        return 1;
    }
    kiln_log_set_sink(hear);
    kiln_log_set_level(KILN_LOG_WARN);
    kill_writers(writers / 2, some_limit);
    kill_writers(writers / 2, 0);
    temporary_directory_remove();
    return faults == 0 ? 0 : 1;
}
