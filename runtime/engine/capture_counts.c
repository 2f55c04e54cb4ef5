#include "runtime/engine/capture_counts.h"

#include "runtime/support/buffer.h"
#include "runtime/support/file.h"
#include "runtime/support/temporary_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    HASH_DIGITS = 32,
    COUNT_COLUMNS = 20,
    LINE_BYTES = HASH_DIGITS + 1 + COUNT_COLUMNS + 1,
    CREATE_ATTEMPTS = 16,
};

void kiln_capture_counts_init(struct kiln_capture_counts *counts)
{
    *counts = (struct kiln_capture_counts){.descriptor = -1};
}

void kiln_capture_counts_fini(struct kiln_capture_counts *counts)
{
    if (counts->descriptor >= 0)
        close(counts->descriptor);
    kiln_capture_counts_init(counts);
}

static enum kiln_status create(struct kiln_capture_counts *counts, const char *directory,
                               struct kiln_error *error)
{
    enum kiln_status status = kiln_directory_make(directory, 0777, error);
    int failure = EEXIST;
    for (unsigned attempt = 0; status == KILN_OK && failure == EEXIST && attempt < CREATE_ATTEMPTS;
         attempt++) {
        char writer[KILN_WRITER_TEXT_BYTES];
        struct kiln_buffer path;
        kiln_buffer_init(&path);
        kiln_writer_text_make(writer, attempt);
        kiln_buffer_printf(&path, "%s/%s" KILN_CAPTURE_COUNTS_SUFFIX, directory, writer);
        status = kiln_buffer_check(&path, error);
        if (status == KILN_OK)
            counts->descriptor = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        failure = counts->descriptor < 0 ? errno : 0;
        kiln_buffer_fini(&path);
    }
    if (status == KILN_OK && failure)
        status = kiln_error_set(error, KILN_IO, "cannot create a file of counts in '%s': %s",
                                directory, strerror(failure));
    return status;
}

enum kiln_status kiln_capture_counts_write(struct kiln_capture_counts *counts,
                                           const char *directory, struct kiln_hash128 graph,
                                           uint64_t count, uint32_t *line, struct kiln_error *error)
{
    char text[LINE_BYTES + 1];
    if (counts->descriptor < 0) {
        enum kiln_status status = create(counts, directory, error);
        if (status)
            return status;
    }
    uint32_t number = *line == UINT32_MAX ? counts->lines : *line;
    (void)snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64 " %*" PRIu64 "\n", graph.high,
                   graph.low, COUNT_COLUMNS, count);
    ssize_t written = -1;
    do
        if (kiln_file_may_have(((uint64_t)number + 1) * LINE_BYTES))
            written = pwrite(counts->descriptor, text, LINE_BYTES, (off_t)number * LINE_BYTES);
    while (written < 0 && errno == EINTR);
    if (written != LINE_BYTES)
        return kiln_error_set(error, KILN_IO, "cannot write counts in '%s': %s", directory,
                              strerror(written < 0 ? errno : ENOSPC));
    if (*line == UINT32_MAX)
        *line = counts->lines++;
    return KILN_OK;
}

static bool read_hash(const char *text, struct kiln_hash128 *ret_hash)
{
    uint64_t halves[2] = {0, 0};
    for (int i = 0; i < HASH_DIGITS; i++) {
        char c = text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        halves[i / 16] = halves[i / 16] << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret_hash = (struct kiln_hash128){.high = halves[0], .low = halves[1]};
    return true;
}

static bool read_count(const char *text, uint64_t *ret_count)
{
    uint64_t count = 0;
    int at = 0;
    while (at < COUNT_COLUMNS && text[at] == ' ')
        at++;
    if (at == COUNT_COLUMNS)
        return false;
    for (; at < COUNT_COLUMNS; at++) {
        uint64_t digit = (uint64_t)(unsigned char)text[at] - '0';
        if (digit > 9 || count > (UINT64_MAX - digit) / 10)
            return false;
        count = count * 10 + digit;
    }
    *ret_count = count;
    return true;
}

void kiln_capture_counts_read(const void *content, size_t size, void *context,
                              void (*take)(void *context, struct kiln_hash128 graph,
                                           uint64_t count))
{
    for (size_t at = 0; at + LINE_BYTES <= size; at += LINE_BYTES) {
        const char *line = (const char *)content + at;
        struct kiln_hash128 graph;
        uint64_t count;
        if (read_hash(line, &graph) && line[HASH_DIGITS] == ' ' &&
            read_count(line + HASH_DIGITS + 1, &count) && line[LINE_BYTES - 1] == '\n')
            take(context, graph, count);
    }
}
