/*
 * Several processes with several threads each write, read, damage and clear the same few entries.
 * Whatever they find must be a whole payload that somebody wrote for that key.
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/entry_file.h"

#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/runtime/support/temporary_directory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, THREADS = 3, ROUNDS = 400, KEYS = 4, PAYLOAD_LIMIT = 20000 };

static struct kiln_cache_store *store;
static atomic_uint faults;
static atomic_uint hits;

static void fault(const char *text, unsigned number)
{
    (void)fprintf(stderr, "%s (key %u)\n", text, number);
    atomic_fetch_add(&faults, 1);
}

/* What a crash, a bad disk or a careless user may do. */
static void damage(const struct kiln_cache_key *key, unsigned draw)
{
    struct kiln_entry_name name;
    char path[4096];
    kiln_entry_name_set(&name, key, 0);
    (void)snprintf(path, sizeof path, "%s/%s/%s", kiln_cache_store_directory(store), name.fanout,
                   name.file);
    int descriptor = open(path, O_WRONLY);
    if (descriptor < 0)
        return;
    if (draw % 2 == 0) {
        if (ftruncate(descriptor, (off_t)(draw % 300)) != 0)
            fault("cannot truncate", 0);
    } else if (pwrite(descriptor, "damage", 6, (off_t)(draw % 300)) != 6) {
        fault("cannot overwrite", 0);
    }
    (void)close(descriptor);
}

static void *work(void *argument)
{
    unsigned state = *(unsigned *)argument * 7919 + (unsigned)getpid();
    unsigned char *payload = malloc(PAYLOAD_LIMIT);
    if (payload == NULL)
        return NULL;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned number = sample_random(&state) % KEYS;
        unsigned action = sample_random(&state) % 32;
        struct kiln_cache_key key = sample_key(number);
        struct kiln_error error;
        kiln_error_init(&error);
        if (action < 8) {
            size_t size = SAMPLE_PAYLOAD_LEAST_BYTES +
                          sample_random(&state) % (PAYLOAD_LIMIT - SAMPLE_PAYLOAD_LEAST_BYTES);
            sample_payload_fill(payload, size, number, sample_random(&state));
            if (kiln_cache_store_insert(store, &key, NULL, payload, size, &error) != KILN_OK &&
                strstr(error.text, "No such file") == NULL) /* a clear took the temporary file */
                fault(error.text, number);
        } else if (action < 10) {
            damage(&key, sample_random(&state));
        } else if (action < 11) {
            struct kiln_cache_cleared cleared;
            if (kiln_cache_store_clear(store, &cleared, &error) != KILN_OK)
                fault(error.text, number);
        } else {
            void *found = NULL;
            size_t size = 0;
            enum kiln_status status = kiln_cache_store_lookup(store, &key, &found, &size, &error);
            if (status == KILN_OK && !sample_payload_is_whole(found, size, number))
                fault("a wrong payload", number);
            if (status != KILN_OK && status != KILN_NOT_FOUND)
                fault(error.text, number);
            if (status == KILN_OK)
                atomic_fetch_add(&hits, 1);
            free(found);
        }
        kiln_cache_key_fini(&key);
    }
    free(payload);
    return NULL;
}

static int run_process(const char *path)
{
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_cache_store_open(&(struct kiln_cache_options){.directory = path}, &store, &error) !=
        KILN_OK) {
        fault(error.text, 0);
        return 1;
    }
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    unsigned count = 0;
    for (; count < THREADS; count++) {
        seeds[count] = count;
        if (pthread_create(&threads[count], NULL, work, &seeds[count]) != 0) {
            fault("cannot start a thread", 0);
            break;
        }
    }
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    kiln_cache_store_close(store);
    if (atomic_load(&hits) == 0)
        fault("no lookup ever hit: nothing was tested", 0);
    return atomic_load(&faults) == 0 ? 0 : 1;
}

int main(void)
{
    if (temporary_directory_make() == NULL) {
        perror("cannot make a temporary directory");
        return 1;
    }
    const char *path = temporary_path("cache");
    pid_t children[PROCESSES];
    int result = 0;
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(run_process(path));
        if (children[i] < 0)
            result = 1;
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        if (children[i] > 0 && (waitpid(children[i], &status, 0) < 0 || !WIFEXITED(status) ||
                                WEXITSTATUS(status) != 0))
            result = 1;
    }
    temporary_directory_remove();
    return result;
}
