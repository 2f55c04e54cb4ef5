/*
 * Many processes look up, insert and prune in one directory with a small budget, and nobody may
 * notice: every lookup is a whole payload or a miss, every insert succeeds, nothing is warned of,
 * and the directory never holds a tenth more than the budget. To see that exactly, everybody is
 * stopped while it is measured. The store has no locks that could be switched off.
 *
 * usage: cache_budget_stress [processes rounds budget-KiB]
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
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESS_LIMIT = 256, ENTRY_LEAST = 512, ENTRY_LIMIT = 8 * 1024, SAMPLE_INTERVAL_MS = 40 };

struct totals {
    _Atomic(unsigned) hits;
    _Atomic(unsigned) misses;
    _Atomic(unsigned) inserts;
    _Atomic(uint64_t) inserted_bytes;
    _Atomic(unsigned) faults;
};

static struct totals *totals; /* shared by all processes */
static unsigned processes = 12;
static unsigned rounds = 300;
static uint64_t budget_bytes = (uint64_t)3 << 20;
static const char *path;

static void fault(const char *text)
{
    (void)fprintf(stderr, "fault: %s\n", text);
    totals->faults++;
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
        fault(error.text);
        exit(1);
    }
    return store;
}

static void insert(struct kiln_cache_store *store, const struct kiln_cache_key *key,
                   unsigned number, unsigned *state)
{
    static unsigned char payload[ENTRY_LIMIT];
    struct kiln_error error;
    kiln_error_init(&error);
    size_t size = ENTRY_LEAST + sample_random(state) % (ENTRY_LIMIT - ENTRY_LEAST);
    sample_payload_fill(payload, size, number, sample_random(state));
    if (kiln_cache_store_insert(store, key, NULL, payload, size, &error) != KILN_OK)
        fault(error.text);
    totals->inserts++;
    totals->inserted_bytes += size;
}

static void look_up(struct kiln_cache_store *store, const struct kiln_cache_key *key,
                    unsigned number)
{
    struct kiln_error error;
    kiln_error_init(&error);
    void *payload = NULL;
    size_t size = 0;
    enum kiln_status status = kiln_cache_store_lookup(store, key, &payload, &size, &error);
    if (status != KILN_OK && status != KILN_NOT_FOUND)
        fault(error.text);
    if (status == KILN_OK && !sample_payload_is_whole(payload, size, number))
        fault("a wrong payload");
    (*(status == KILN_OK ? &totals->hits : &totals->misses))++;
    free(payload);
}

static void prune(struct kiln_cache_store *store)
{
    struct kiln_error error;
    kiln_error_init(&error);
    const struct kiln_cache_prune limit = {.max_bytes = budget_bytes - budget_bytes / 20,
                                           .max_age_s = UINT64_MAX};
    struct kiln_cache_pruned pruned;
    if (kiln_cache_store_prune(store, &limit, &pruned, &error) != KILN_OK)
        fault(error.text);
}

static void work(unsigned seed)
{
    unsigned state = seed * 7919 + 1;
    unsigned keys = (unsigned)(budget_bytes * 2 / (ENTRY_LIMIT / 2));
    struct kiln_cache_store *store = open_store();
    for (unsigned round = 0; round < rounds; round++) {
        unsigned number = sample_random(&state) % keys;
        unsigned action = sample_random(&state) % 512;
        struct kiln_cache_key key = sample_key(number);
        if (action == 0)
            prune(store);
        else if (action < 230)
            insert(store, &key, number, &state);
        else
            look_up(store, &key, number);
        kiln_cache_key_fini(&key);
    }
    kiln_cache_store_close(store);
}

/* Stops and starts those that still run, and takes the status of those that ended. Returns how many
 * run. */
static unsigned signal_all(pid_t *children, int signal_number)
{
    unsigned running = 0;
    for (unsigned i = 0; i < processes; i++) {
        if (children[i] == 0)
            continue;
        (void)kill(children[i], signal_number);
        int status = 0;
        if (signal_number == SIGSTOP) {
            if (waitpid(children[i], &status, WUNTRACED) != children[i])
                fault("cannot wait");
            if (!WIFSTOPPED(status)) {
                if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                    fault("a process failed");
                children[i] = 0;
                continue;
            }
        }
        running++;
    }
    return running;
}

static uint64_t measure(struct kiln_cache_store *store, struct kiln_cache_stats *stats)
{
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_cache_store_stats(store, stats, &error) != KILN_OK)
        fault(error.text);
    return stats->bytes + stats->temporary_bytes;
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        processes = (unsigned)strtoul(argv[1], NULL, 10);
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
        budget_bytes = strtoull(argv[3], NULL, 10) << 10;
    }
    totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (totals == MAP_FAILED || processes > PROCESS_LIMIT || temporary_directory_make() == NULL) {
        perror("cannot start");
        return 1;
    }
    path = temporary_path("cache");
    kiln_log_set_sink(hear);
    kiln_log_set_level(KILN_LOG_WARN);
    struct kiln_cache_store *store = open_store();

    pid_t children[PROCESS_LIMIT];
    for (unsigned i = 0; i < processes; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            (void)!nice(10); /* so that the measuring process gets its turn */
            work(i);
            _exit(0);
        }
        if (children[i] < 0) {
            fault("cannot fork");
            children[i] = 0;
        }
    }
    struct kiln_cache_stats stats = {0};
    uint64_t most_bytes = 0;
    unsigned samples = 0;
    while (signal_all(children, SIGSTOP) != 0) {
        uint64_t bytes = measure(store, &stats);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        samples++;
        (void)signal_all(children, SIGCONT);
        (void)nanosleep(&(struct timespec){.tv_nsec = SAMPLE_INTERVAL_MS * 1000000L}, NULL);
    }
    uint64_t bytes = measure(store, &stats);
    most_bytes = bytes > most_bytes ? bytes : most_bytes;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_cache_store_verify(store, NULL, NULL, &stats, &error) != KILN_OK)
        fault(error.text);
    if (stats.damaged != 0)
        fault("a damaged entry");
    if (stats.temporary_files != 0)
        fault("a temporary file was left");
    /* What decision 12 promises, and what the processes and the budget of any sensible use make of
     * it. */
    uint64_t bound = budget_bytes + processes * (budget_bytes / 1024 + ENTRY_LIMIT + 100);
    if (most_bytes > bound)
        fault("more above the budget than each process may be");
    if (most_bytes * 10 > budget_bytes * 11)
        fault("more than a tenth above the budget");
    if (totals->inserted_bytes < 2 * budget_bytes || totals->hits == 0)
        fault("too little was done to evict anything");
    kiln_cache_store_close(store);
    printf("%u processes, %u rounds: %u hits, %u misses, %u inserts of %llu KiB; at most %llu KiB "
           "of %llu KiB (%.1f %%) in %u samples; %u faults\n",
           processes, rounds, totals->hits, totals->misses, totals->inserts,
           (unsigned long long)totals->inserted_bytes >> 10, (unsigned long long)most_bytes >> 10,
           (unsigned long long)budget_bytes >> 10,
           100.0 * (double)most_bytes / (double)budget_bytes, samples, totals->faults);
    temporary_directory_remove();
    return totals->faults == 0 ? 0 : 1;
}
