#include "runtime/engine/graph_capture.h"

#include "cache/cache_warning.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/support/environment.h"
#include "runtime/support/file.h"
#include "runtime/support/hash.h"
#include "runtime/support/log.h"
#include "runtime/support/process_mutex.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kiln_graph_capture {
    char *directory;
    struct kiln_process_mutex lock;
    uint32_t count;
    struct kiln_hash128 seen[KILN_GRAPH_CAPTURE_LIMIT];
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
    return capture;
}

void kiln_graph_capture_destroy(struct kiln_graph_capture *capture)
{
    if (!capture)
        return;
    kiln_process_mutex_fini(&capture->lock);
    free(capture->directory);
    free(capture);
}

static struct kiln_hash128 graph_hash(const void *bytes, size_t size)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_buffer canonical;
    kiln_buffer_init(&canonical);
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    bool readable = kiln_graph_read(bytes, size, &arena, &graph, &error) == KILN_OK;
    if (readable)
        kiln_graph_append_canonical(&graph, &canonical);
    struct kiln_hash128 hash = readable && !canonical.failed
                                   ? kiln_hash128(canonical.data, canonical.size)
                                   : kiln_hash128(bytes, size);
    kiln_buffer_fini(&canonical);
    kiln_arena_fini(&arena);
    return hash;
}

/* True for the first caller with this hash, as long as there is room. */
static bool remember(struct kiln_graph_capture *capture, struct kiln_hash128 hash)
{
    bool is_new = true;
    (void)kiln_process_mutex_lock(&capture->lock);
    for (uint32_t i = 0; i < capture->count && is_new; i++)
        is_new = capture->seen[i].high != hash.high || capture->seen[i].low != hash.low;
    if (is_new && capture->count == KILN_GRAPH_CAPTURE_LIMIT)
        is_new = false;
    if (is_new)
        capture->seen[capture->count++] = hash;
    bool full = is_new && capture->count == KILN_GRAPH_CAPTURE_LIMIT;
    kiln_process_mutex_unlock(&capture->lock);
    if (full)
        kiln_log(KILN_LOG_WARN, "'%d' graphs were captured: this process captures no more",
                 KILN_GRAPH_CAPTURE_LIMIT);
    return is_new;
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

void kiln_graph_capture_write(struct kiln_graph_capture *capture, const void *bytes, size_t size)
{
    if (!capture)
        return;
    struct kiln_hash128 hash = graph_hash(bytes, size);
    if (!remember(capture, hash))
        return;
    struct kiln_error error;
    kiln_error_init(&error);
    if (write_graph(capture, hash, bytes, size, &error))
        kiln_cache_warn_once("capture", error.text, "a graph is not captured: %s", error.text);
}
