/*
 * KILN_CAPTURE_DIR.
 */
#include "runtime/engine/graph_capture.h"

#include "runtime/engine/capture_counts.h"
#include "runtime/support/file.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/runtime/support/captured_stderr.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static char capture_directory[96];
static struct kiln_buffer graph;

static void set_up(void)
{
    snprintf(directory, sizeof(directory), "/tmp/kiln_capture_test_XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(capture_directory, sizeof(capture_directory), "%s/new/below", directory);
    setenv("KILN_CAPTURE_DIR", capture_directory, 1);
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);
}

static void tear_down(void)
{
    kiln_buffer_fini(&graph);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    cr_expect_eq(system(command), 0);
}

TestSuite(graph_capture, .init = set_up, .fini = tear_down);

/* Number of files; the path of one of them. */
static int count_files(char *path, size_t size)
{
    DIR *stream = opendir(capture_directory);
    int count = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, size, "%s/%s", capture_directory, entry->d_name);
        count++;
    }
    if (stream)
        closedir(stream);
    return count;
}

Test(graph_capture, writes_each_graph_once)
{
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    cr_assert_not_null(capture);
    char path[512];
    for (int i = 0; i < 3; i++)
        kiln_graph_capture_write(capture, graph.data, graph.size);
    cr_assert_eq(count_files(path, sizeof(path)), 1);
    cr_expect_eq(strlen(strrchr(path, '/') + 1), 32 + strlen(".bin"));

    struct kiln_buffer content;
    struct kiln_error error;
    kiln_buffer_init(&content);
    kiln_error_init(&error);
    cr_assert_eq(kiln_file_read(path, 1 << 20, &content, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(content.size, graph.size);
    cr_expect_arr_eq(content.data, graph.data, graph.size);
    kiln_buffer_fini(&content);

    /* The same computation under other uids and in the other layout. */
    const int64_t uids[] = {40, 50};
    const struct sample_graph other = {
        KILN_WIRE_ERA_NOV2025, KILN_DTYPE_F32, 1000, 2, uids, 60, false};
    kiln_buffer_clear(&graph);
    sample_graph_write(&other, &graph);
    kiln_graph_capture_write(capture, graph.data, graph.size);
    cr_expect_eq(count_files(path, sizeof(path)), 1);

    kiln_graph_capture_write(capture, "not a graph, but seen", 21);
    cr_expect_eq(count_files(path, sizeof(path)), 2);
    kiln_graph_capture_destroy(capture);
}

static uint64_t asked;
static uint32_t lines;

static void add_count(void *context, struct kiln_hash128 hash, uint64_t count)
{
    const struct kiln_hash128 *wanted = context;
    lines++;
    if (!wanted || (hash.high == wanted->high && hash.low == wanted->low))
        asked += count;
}

/* Adds up the counts of all files in the directory; returns how many files there are. */
static int read_counts(const struct kiln_hash128 *wanted)
{
    DIR *stream = opendir(capture_directory);
    int count = 0;
    asked = 0;
    lines = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        char path[512];
        struct kiln_buffer content;
        struct kiln_error error;
        if (!strstr(entry->d_name, KILN_CAPTURE_COUNTS_SUFFIX))
            continue;
        snprintf(path, sizeof(path), "%s/%s", capture_directory, entry->d_name);
        kiln_buffer_init(&content);
        kiln_error_init(&error);
        cr_assert_eq(kiln_file_read(path, 1 << 20, &content, &error), KILN_OK, "%s", error.text);
        kiln_capture_counts_read(content.data, content.size, (void *)(uintptr_t)wanted, add_count);
        kiln_buffer_fini(&content);
        count++;
    }
    if (stream)
        closedir(stream);
    return count;
}

Test(graph_capture, questions_are_counted_in_one_file_per_process)
{
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    for (int i = 0; i < 1200; i++)
        kiln_graph_capture_ask(capture, graph.data, graph.size);
    kiln_graph_capture_write(capture, graph.data, graph.size);
    kiln_graph_capture_ask(capture, "no graph", 8);
    cr_assert_eq(read_counts(NULL), 1);
    cr_expect_eq(lines, 2);
    cr_expect_eq(asked, 1201);
    const struct kiln_hash128 hash = kiln_hash128("no graph", 8);
    (void)read_counts(&hash);
    cr_expect_eq(asked, 1);

    /* Each process has its file, also when it is a child that is killed. */
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 10; j++)
                kiln_graph_capture_ask(capture, graph.data, graph.size);
            kill(getpid(), SIGKILL);
        }
        cr_assert_eq(waitpid(child, NULL, 0), child);
    }
    kiln_graph_capture_ask(capture, graph.data, graph.size);
    cr_assert_eq(read_counts(NULL), 3);
    cr_expect_eq(asked, 1222);
    kiln_graph_capture_destroy(capture);
}

static size_t sound_lines(const char *content, size_t size)
{
    lines = 0;
    kiln_capture_counts_read(content, size, NULL, add_count);
    return lines;
}

Test(graph_capture, damaged_counts_are_left_out)
{
    static const char line[] = "0123456789abcdef0123456789abcdef                   12\n";
    enum { BYTES = sizeof(line) - 1 };
    char content[3 * BYTES];
    for (int i = 0; i < 3; i++)
        memcpy(content + i * BYTES, line, BYTES);
    cr_assert_eq(sound_lines(content, sizeof(content)), 3);
    cr_assert_eq(sound_lines(content, sizeof(content) - 1), 2);
    cr_assert_eq(sound_lines(content, 0), 0);
    for (size_t i = 0; i < BYTES; i++) {
        content[BYTES + i] = '\0';
        cr_expect_eq(sound_lines(content, sizeof(content)), 2, "byte %zu", i);
        content[BYTES + i] = line[i];
    }
    memset(content + BYTES + 33, '9', 20); /* more than 64 bits */
    cr_expect_eq(sound_lines(content, sizeof(content)), 2);
    memset(content + BYTES + 33, ' ', 20);
    cr_expect_eq(sound_lines(content, sizeof(content)), 2);
}

Test(graph_capture, is_off_unless_asked_for)
{
    unsetenv("KILN_CAPTURE_DIR");
    cr_expect_null(kiln_graph_capture_create());
    setenv("KILN_CAPTURE_DIR", "", 1);
    cr_expect_null(kiln_graph_capture_create());
    kiln_graph_capture_write(NULL, graph.data, graph.size);
    kiln_graph_capture_ask(NULL, graph.data, graph.size);
    kiln_graph_capture_destroy(NULL);
}

Test(graph_capture, never_fails)
{
    setenv("KILN_CAPTURE_DIR", "/dev/null/not/possible", 1);
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    cr_assert_not_null(capture);
    kiln_graph_capture_write(capture, graph.data, graph.size);
    kiln_graph_capture_write(capture, NULL, 0);
    kiln_graph_capture_ask(capture, graph.data, graph.size);
    kiln_graph_capture_destroy(capture);
}

Test(graph_capture, a_missing_graph_is_told_of_once_with_logging_off)
{
    captured_stderr_start();
    setenv("KILN_CAPTURE_DIR", "/dev/null/not/possible", 1);
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    cr_assert_not_null(capture);
    kiln_graph_capture_write(capture, graph.data, graph.size);
    kiln_graph_capture_write(capture, graph.data, graph.size / 2);
    kiln_graph_capture_destroy(capture);
    cr_expect_str_eq(captured_stderr_text(), "kiln: not every graph is captured in "
                                             "'/dev/null/not/possible'; hint: "
                                             "KILN_LOG_LEVEL=warn says why\n");
}
