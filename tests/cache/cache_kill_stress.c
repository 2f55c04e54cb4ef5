/*
 * Writers that are killed at random moments: no entry may be damaged, and what they leave behind
 * may not add up: no more temporary files than there were writers at a time.
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
enum { PARALLEL = 4, KEYS = 64, ENTRY_LIMIT = 512 * 1024, DELAY_LIMIT_US = 10000 };

static const uint64_t budget_bytes = (uint64_t)12 << 20; /* so that some are killed evicting */
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
    const struct kiln_cache_options options = {.directory = path,
                                               .max_bytes = &budget_bytes,
                                               .layers = "",
                                               .system_layer = "",
                                               .remote = ""};
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
    if (kiln_cache_store_insert(store, &key, payload, size, &error) != KILN_OK)
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

int main(int argc, char **argv)
{
    unsigned writers = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 400;
    if (temporary_directory_make() == NULL) {
        perror("cannot make a temporary directory");
        return 1;
    }
    path = temporary_path("cache");
    kiln_log_set_sink(hear);
    kiln_log_set_level(KILN_LOG_WARN);
    struct kiln_cache_store *store = open_store();
    unsigned state = 1;
    unsigned hits = 0;
    unsigned interrupted = 0; /* batches that left a temporary file */
    uint64_t most_left = 0;
    for (unsigned started = 0; started < writers; started += PARALLEL) {
        pid_t children[PARALLEL];
        for (unsigned i = 0; i < PARALLEL; i++) {
            children[i] = fork();
            if (children[i] == 0)
                write_for_ever(started + i + 1);
        }
        for (unsigned i = 0; i < PARALLEL; i++) {
            (void)nanosleep(
                &(struct timespec){.tv_nsec = 1000L * (sample_random(&state) % DELAY_LIMIT_US)},
                NULL);
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
    if (most_left > PARALLEL)
        fault("more temporary files than writers at a time");

    /* The first insert of a process cleans up. */
    insert(store, 0, &state);
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
    printf("%u writers killed, %u of %u batches left something, at most %llu files at a time; %llu "
           "entries of %llu KiB (budget %llu KiB), %llu damaged, %u hits; %u faults\n",
           writers, interrupted, (writers + PARALLEL - 1) / PARALLEL, (unsigned long long)most_left,
           (unsigned long long)stats.entries, (unsigned long long)stats.bytes >> 10,
           (unsigned long long)budget_bytes >> 10, (unsigned long long)stats.damaged, hits, faults);
    kiln_cache_store_close(store);
    temporary_directory_remove();
    return faults == 0 ? 0 : 1;
}
