#include "runtime/engine/graph_capture.h"

#include "cache/cache_warning.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/capture_counts.h"
#include "runtime/support/environment.h"
#include "runtime/support/file.h"
#include "runtime/support/hash.h"
#include "runtime/support/log.h"
#include "runtime/support/notice.h"
#include "runtime/support/process_mutex.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEEN_SLOTS = 2 * KILN_GRAPH_CAPTURE_LIMIT }; /* a power of two */

struct seen_graph {
    struct kiln_hash128 hash;
    uint64_t questions; /* of this process */
    uint32_t line;      /* in the file of counts; UINT32_MAX: none yet */
    bool is_used;       /* the slot is taken */
};

struct kiln_graph_capture {
    char *directory;
    struct kiln_process_mutex lock;
    pid_t process; /* that the counts are of: a forked child counts in a file of its own */
    struct kiln_capture_counts counts;
    bool has_told_failure;
    uint32_t count;
    struct seen_graph seen[SEEN_SLOTS]; /* by hash, open addressing */
};

struct kiln_graph_capture *kiln_graph_capture_create(void)
{
    const char *directory = kiln_environment_text(KILN_ENVIRONMENT_KILN_CAPTURE_DIR);
    if (!directory || !*directory)
        return NULL;
    struct kiln_graph_capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return NULL;
    capture->directory = strdup(directory);
    if (!capture->directory) {
        free(capture);
        return NULL;
    }
    kiln_process_mutex_init(&capture->lock);
    kiln_capture_counts_init(&capture->counts);
    capture->process = getpid();
    return capture;
}

void kiln_graph_capture_destroy(struct kiln_graph_capture *capture)
{
    if (!capture)
        return;
    kiln_capture_counts_fini(&capture->counts);
    kiln_process_mutex_fini(&capture->lock);
    free(capture->directory);
    free(capture);
}

static struct kiln_hash128 graph_hash(const void *bytes, size_t size)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_hash128 hash;
    if (kiln_graph_read(bytes, size, &arena, &graph, &error) != KILN_OK ||
        kiln_graph_hash(&graph, &hash, &error) != KILN_OK)
        hash = kiln_hash128(bytes, size);
    kiln_arena_fini(&arena);
    return hash;
}

/* The graph's slot, or the free one that it would get. At most half of them are taken. */
static struct seen_graph *slot_of(struct kiln_graph_capture *capture, struct kiln_hash128 hash)
{
    size_t at = (size_t)hash.low % SEEN_SLOTS;
    while (capture->seen[at].is_used &&
           (capture->seen[at].hash.high != hash.high || capture->seen[at].hash.low != hash.low))
        at = (at + 1) % SEEN_SLOTS;
    return &capture->seen[at];
}

/* The parent's counts are in the parent's file. */
static void forget_parent(struct kiln_graph_capture *capture)
{
    if (capture->process == getpid())
        return;
    capture->process = getpid();
    kiln_capture_counts_fini(&capture->counts);
    for (size_t i = 0; i < SEEN_SLOTS; i++) {
        capture->seen[i].questions = 0;
        capture->seen[i].line = UINT32_MAX;
    }
}

/* True for the first caller with this hash, as long as there is room. */
static bool remember(struct kiln_graph_capture *capture, struct kiln_hash128 hash)
{
    (void)kiln_process_mutex_lock(&capture->lock);
    struct seen_graph *seen = slot_of(capture, hash);
    bool is_new = !seen->is_used && capture->count < KILN_GRAPH_CAPTURE_LIMIT;
    if (is_new) {
        *seen = (struct seen_graph){.hash = hash, .line = UINT32_MAX, .is_used = true};
        capture->count++;
    }
    bool full = is_new && capture->count == KILN_GRAPH_CAPTURE_LIMIT;
    kiln_process_mutex_unlock(&capture->lock);
    if (full)
        kiln_notice("%d graphs were captured: this process captures no more",
                    KILN_GRAPH_CAPTURE_LIMIT);
    return is_new;
}

static void count_question(struct kiln_graph_capture *capture, struct kiln_hash128 hash)
{
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = KILN_OK;
    (void)kiln_process_mutex_lock(&capture->lock);
    forget_parent(capture);
    struct seen_graph *seen = slot_of(capture, hash);
    if (seen->is_used)
        status = kiln_capture_counts_write(&capture->counts, capture->directory, hash,
                                           ++seen->questions, &seen->line, &error);
    bool is_told = status == KILN_OK || capture->has_told_failure;
    capture->has_told_failure = capture->has_told_failure || status != KILN_OK;
    kiln_process_mutex_unlock(&capture->lock);
    if (!is_told)
        kiln_log(KILN_LOG_WARN, "captured graphs are not counted: %s", error.text);
}

static enum kiln_status write_graph(const struct kiln_graph_capture *capture,
                                    struct kiln_hash128 hash, const void *bytes, size_t size,
                                    struct kiln_error *error)
{
    struct kiln_buffer path;
    kiln_buffer_init(&path);
    kiln_buffer_printf(&path, "%s/%016llx%016llx.bin", capture->directory,
                       (unsigned long long)hash.high, (unsigned long long)hash.low);
    enum kiln_status status = kiln_buffer_check(&path, error);
    if (status == KILN_OK && access(path.data, F_OK) != 0) {
        status = kiln_directory_make(capture->directory, 0777, error);
        if (status == KILN_OK)
            status = kiln_file_write(path.data, bytes, size, 0, error);
        if (status == KILN_OK)
            kiln_log(KILN_LOG_INFO, "captured graph '%s'", path.data);
    }
    kiln_buffer_fini(&path);
    return status;
}

static void capture_graph(struct kiln_graph_capture *capture, struct kiln_hash128 hash,
                          const void *bytes, size_t size)
{
    struct kiln_error error;
    if (!remember(capture, hash))
        return;
    kiln_error_init(&error);
    if (write_graph(capture, hash, bytes, size, &error) == KILN_OK)
        return;
    kiln_cache_warn_once("capture", error.text, "a graph is not captured: %s", error.text);
    /* The caller would compile what is there, and miss the others. */
    if (!kiln_log_takes(KILN_LOG_WARN))
        kiln_notice("not every graph is captured in '%s'\nhint: KILN_LOG_LEVEL=warn says why",
                    capture->directory);
}

void kiln_graph_capture_write(struct kiln_graph_capture *capture, const void *bytes, size_t size)
{
    if (capture)
        capture_graph(capture, graph_hash(bytes, size), bytes, size);
}

void kiln_graph_capture_ask(struct kiln_graph_capture *capture, const void *bytes, size_t size)
{
    if (!capture)
        return;
    struct kiln_hash128 hash = graph_hash(bytes, size);
    capture_graph(capture, hash, bytes, size);
    count_question(capture, hash);
}
