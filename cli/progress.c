#include "cli/progress.h"

#include "cli/text.h"
#include "runtime/support/thread.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <time.h>
#include <unistd.h>

enum {
    DELAY_NS = 1000000000,
    INTERVAL_NS = 100000000,
    RESULT_BUFFER_BYTES = 1 << 16,
};

/* Guarded by stderr's lock. Callers that need stdout's lock too take that one first. */
static struct {
    bool is_enabled;
    bool is_drawn;
    bool has_thread;
    const char *verb;
    size_t total;
    size_t done;
    size_t failed;
    uint64_t start_ns; /* of the command */
    uint64_t verb_ns;
} progress;

static void lock(void)
{
    flockfile(stdout);
    flockfile(stderr);
}

static void unlock(void)
{
    funlockfile(stderr);
    funlockfile(stdout);
}

void kiln_progress_wipe_locked(void)
{
    if (progress.is_drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress.is_drawn = false;
    }
}

static void draw_locked(uint64_t now_ns)
{
    fprintf(stderr, "\r\033[K%s: ", progress.verb);
    if (progress.total)
        fprintf(stderr, "%zu of %zu (%zu%%)", progress.done, progress.total,
                progress.done * 100 / progress.total);
    else
        fprintf(stderr, "%u s", (unsigned)((now_ns - progress.verb_ns) / 1000000000));
    if (progress.failed)
        fprintf(stderr, ", %zu failed", progress.failed);
    fflush(stderr);
    progress.is_drawn = true;
}

/* Results that are being written come first: the line would stand among them. */
static void *draw_again_and_again(void *unused)
{
    const struct timespec interval = {.tv_nsec = INTERVAL_NS};
    for (;;) {
        nanosleep(&interval, NULL);
        lock();
        uint64_t now_ns = kiln_clock_ns();
        if (__fpending(stdout) != 0)
            kiln_progress_wipe_locked();
        else if (progress.is_enabled && now_ns - progress.start_ns > DELAY_NS)
            draw_locked(now_ns);
        unlock();
    }
    return unused;
}

void kiln_progress_start(const char *verb, size_t total)
{
    if (!isatty(STDERR_FILENO))
        return;
    lock();
    uint64_t now_ns = kiln_clock_ns();
    if (!progress.has_thread) {
        /* Results reach the terminal when the line is wiped, not before. */
        static char results[RESULT_BUFFER_BYTES];
        pthread_t thread;
        if (isatty(STDOUT_FILENO))
            (void)setvbuf(stdout, results, _IOFBF, sizeof(results));
        progress.start_ns = now_ns;
        progress.has_thread = kiln_thread_start(draw_again_and_again, NULL, 0, &thread) == 0;
        if (progress.has_thread)
            (void)pthread_detach(thread);
    }
    progress.is_enabled = true;
    progress.verb = verb;
    progress.total = total;
    progress.done = 0;
    progress.failed = 0;
    progress.verb_ns = now_ns;
    unlock();
}

void kiln_progress_update(size_t done, size_t failed)
{
    flockfile(stderr);
    progress.done = done;
    progress.failed = failed;
    funlockfile(stderr);
}

void kiln_progress_flush_results(void)
{
    lock();
    kiln_progress_wipe_locked();
    fflush(stdout);
    unlock();
}

void kiln_progress_finish(void)
{
    lock();
    kiln_progress_wipe_locked();
    progress.is_enabled = false;
    unlock();
}
