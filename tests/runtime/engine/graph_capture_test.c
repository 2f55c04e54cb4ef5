/*
 * KILN_CAPTURE_DIR.
 */
#include "runtime/engine/graph_capture.h"

#include "runtime/support/file.h"
#include "tests/runtime/engine/sample_graph.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

Test(graph_capture, is_off_unless_asked_for)
{
    unsetenv("KILN_CAPTURE_DIR");
    cr_expect_null(kiln_graph_capture_create());
    setenv("KILN_CAPTURE_DIR", "", 1);
    cr_expect_null(kiln_graph_capture_create());
    kiln_graph_capture_write(NULL, graph.data, graph.size);
    kiln_graph_capture_destroy(NULL);
}

Test(graph_capture, never_fails)
{
    setenv("KILN_CAPTURE_DIR", "/dev/null/not/possible", 1);
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    cr_assert_not_null(capture);
    kiln_graph_capture_write(capture, graph.data, graph.size);
    kiln_graph_capture_write(capture, NULL, 0);
    kiln_graph_capture_destroy(capture);
}
