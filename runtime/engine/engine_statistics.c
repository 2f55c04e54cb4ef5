#include "runtime/engine/engine_statistics.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/support/buffer.h"
#include "runtime/support/environment.h"
#include "runtime/support/library_lifetime.h"
#include "runtime/support/log.h"
#include "runtime/support/process_mutex.h"
#include "runtime/support/standard_error.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    SEEN_SLOTS = 8192, /* a power of two */
    SEEN_LIMIT = SEEN_SLOTS / 2,
    STATUS_COUNT = KILN_INTERNAL + 1,
};

/* 64 bits tell the graphs of one process apart. */
struct seen_set {
    uint32_t count;
    uint64_t hashes[SEEN_SLOTS]; /* 0: free */
};

struct statistics {
    pid_t process; /* whose counts these are: a forked child begins at 0 */
    struct seen_set graphs;
    struct seen_set declines; /* graph and reason */
    uint64_t plans;
    uint64_t plan_ns;
    uint64_t compile_ns;
    uint64_t kernels[KILN_KERNEL_SOURCES];
    /* Graphs, by what the graph lacks and by what the machine lacks. */
    uint64_t rejected[KILN_REJECT_REASON_COUNT];
    uint64_t failed[STATUS_COUNT];
};

static atomic_bool is_started;
static atomic_bool is_asked_for; /* KILN_STATS */
static struct kiln_process_mutex mutex = KILN_PROCESS_MUTEX_INITIALIZER;
static struct statistics counted;

void kiln_statistics_start(void)
{
    atomic_store(&is_asked_for, kiln_environment_flag(KILN_ENVIRONMENT_KILN_STATS));
    atomic_store(&is_started, true);
}

bool kiln_statistics_are_on(void)
{
    return atomic_load_explicit(&is_started, memory_order_relaxed) &&
           (atomic_load_explicit(&is_asked_for, memory_order_relaxed) ||
            kiln_log_takes(KILN_LOG_INFO));
}

static void lock(void)
{
    (void)kiln_process_mutex_lock(&mutex);
    if (counted.process == getpid())
        return;
    memset(&counted, 0, sizeof counted);
    counted.process = getpid();
    kiln_library_keep_loaded();
}

/* True for a hash that is new and that there is room for. */
static bool add(struct seen_set *set, uint64_t hash)
{
    size_t at = (size_t)(hash |= 1) & (SEEN_SLOTS - 1);
    while (set->hashes[at] != 0 && set->hashes[at] != hash)
        at = (at + 1) & (SEEN_SLOTS - 1);
    if (set->hashes[at] == hash || set->count == SEEN_LIMIT)
        return false;
    set->hashes[at] = hash;
    set->count++;
    return true;
}

void kiln_statistics_count_taken(struct kiln_hash128 graph)
{
    lock();
    (void)add(&counted.graphs, graph.low);
    kiln_process_mutex_unlock(&mutex);
}

bool kiln_statistics_count_decline(struct kiln_hash128 graph, const struct kiln_error *reason)
{
    uint64_t why = reason->reject_reason ? reason->reject_reason : 1000 + (uint64_t)reason->status;
    lock();
    (void)add(&counted.graphs, graph.low);
    bool is_new = add(&counted.declines, graph.low ^ (why * UINT64_C(0x9e3779b97f4a7c15)));
    if (is_new && reason->reject_reason < KILN_REJECT_REASON_COUNT && reason->reject_reason != 0)
        counted.rejected[reason->reject_reason]++;
    else if (is_new && (unsigned)reason->status < STATUS_COUNT)
        counted.failed[reason->status]++;
    kiln_process_mutex_unlock(&mutex);
    return is_new;
}

void kiln_statistics_count_plan(const struct kiln_plan_facts *facts)
{
    lock();
    (void)add(&counted.graphs, facts->graph.low);
    counted.plans++;
    counted.plan_ns += facts->plan_ns;
    counted.compile_ns += facts->compile_ns;
    for (unsigned i = 0; i < KILN_KERNEL_SOURCES; i++)
        counted.kernels[i] += facts->kernels[i];
    kiln_process_mutex_unlock(&mutex);
}

static void append_reasons(struct kiln_buffer *text)
{
    const char *lead = " (";
    for (uint32_t i = 1; i < KILN_REJECT_REASON_COUNT; i++) {
        if (counted.rejected[i] == 0)
            continue;
        kiln_buffer_printf(text, "%s%s %" PRIu64, lead, kiln_reject_name(i), counted.rejected[i]);
        lead = ", ";
    }
    for (unsigned i = 0; i < STATUS_COUNT; i++) {
        if (counted.failed[i] == 0)
            continue;
        kiln_buffer_printf(text, "%smachine: %s %" PRIu64, lead,
                           kiln_status_name((enum kiln_status)i) + sizeof "KILN_" - 1,
                           counted.failed[i]);
        lead = ", ";
    }
    kiln_buffer_append_text(text, *lead == ',' ? ")" : "");
}

/* Takes no lock: a thread that the exit has stopped may hold it. */
static void append_summary(struct kiln_buffer *text)
{
    kiln_buffer_printf(text, "graphs: %" PRIu32 "%s, declined: %" PRIu32, counted.graphs.count,
                       counted.graphs.count == SEEN_LIMIT ? " or more" : "",
                       counted.declines.count);
    append_reasons(text);
    kiln_buffer_printf(text,
                       "; plans: %" PRIu64 " in %" PRIu64 " ms; kernels from memory: %" PRIu64
                       ", directory: %" PRIu64 ", layers: %" PRIu64 ", shared tier: %" PRIu64
                       ", compiled: %" PRIu64 " in %" PRIu64 " ms of CPU time",
                       counted.plans, counted.plan_ns / 1000000, counted.kernels[KILN_FROM_MEMORY],
                       counted.kernels[KILN_FROM_DIRECTORY], counted.kernels[KILN_FROM_LAYER],
                       counted.kernels[KILN_FROM_SHARED_TIER], counted.kernels[KILN_FROM_COMPILER],
                       counted.compile_ns / 1000000);
}

/* Never to the log: the host's logger may be gone when a process exits. */
__attribute__((destructor)) static void write_summary(void)
{
    struct kiln_buffer text;
    if (counted.process != getpid())
        return;
    kiln_buffer_init(&text);
    kiln_buffer_append_text(&text, "kiln: ");
    append_summary(&text);
    if (!text.failed)
        kiln_standard_error_write(text.data);
    kiln_buffer_fini(&text);
}
