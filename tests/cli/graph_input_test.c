#include "cli/graph_input.h"

#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct kiln_graph_input input;
static struct kiln_error error;

static void set_up(void)
{
    cr_assert(temporary_directory_make());
    kiln_error_init(&error);
}

static void tear_down(void)
{
    kiln_graph_input_fini(&input);
    temporary_directory_remove();
}

TestSuite(graph_input, .init = set_up, .fini = tear_down);

Test(graph_input, json_is_told_from_flatbuffers)
{
    cr_assert(kiln_graph_bytes_are_json("{}", 2));
    cr_assert(kiln_graph_bytes_are_json(" \n\t{ \"a\": 1}", 12));
    cr_assert(kiln_graph_bytes_are_json("\xef\xbb\xbf{}", 5));
    cr_assert_not(kiln_graph_bytes_are_json("{\0\0\0....", 8), "a root offset of 123");
    cr_assert_not(kiln_graph_bytes_are_json(" \0\0\0{}", 6), "a root offset of 32");
    cr_assert_not(kiln_graph_bytes_are_json("", 0));
    cr_assert_not(kiln_graph_bytes_are_json(NULL, 0));
    cr_assert_not(kiln_graph_bytes_are_json("   ", 3));
    cr_assert_not(kiln_graph_bytes_are_json("[1]", 3));
}

Test(graph_input, reads_a_json_graph)
{
    enum kiln_status status =
        kiln_graph_input_read(sample_path("current/bias_gelu_fp16.json"), &input, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    cr_assert_eq(input.graph.era, KILN_WIRE_ERA_CURRENT);
    cr_assert_gt(input.graph.node_count, 1);
    cr_assert_not(kiln_graph_bytes_are_json(input.bytes.data, input.bytes.size));
}

Test(graph_input, bytes_and_json_give_the_same_graph)
{
    cr_assert_eq(
        kiln_graph_input_read(sample_path("nov2025/bias_relu6_nchw_fp32.json"), &input, &error),
        KILN_OK, "%s", error.text);
    cr_assert_eq(input.graph.era, KILN_WIRE_ERA_NOV2025);
    const char *path = write_file("graph", input.bytes.data, input.bytes.size);
    struct kiln_graph_input again;
    cr_assert_eq(kiln_graph_input_read(path, &again, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(again.graph.node_count, input.graph.node_count);
    cr_assert_eq(again.bytes.size, input.bytes.size);
    kiln_graph_input_fini(&again);
}

Test(graph_input, sentences_name_the_file)
{
    const char *path = write_file("broken.json", "{\"tensors\": [}", 14);
    cr_assert_eq(kiln_graph_input_read(path, &input, &error), KILN_BAD_ARGUMENT);
    cr_assert(strstr(error.text, path), "%s", error.text);
    cr_assert(kiln_graph_input_is_no_graph(&error));
}

Test(graph_input, noise_is_no_graph)
{
    static const unsigned char noise[64] = {0xde, 0xad, 0xbe, 0xef};
    const char *path = write_file("noise.bin", noise, sizeof(noise));
    cr_assert_eq(kiln_graph_input_read(path, &input, &error), KILN_REJECTED);
    cr_assert(kiln_graph_input_is_no_graph(&error), "%s", error.text);
    cr_assert(strstr(error.text, path), "%s", error.text);
}

Test(graph_input, an_empty_file_is_no_graph)
{
    cr_assert_eq(kiln_graph_input_read(write_file("empty", "", 0), &input, &error), KILN_REJECTED);
    cr_assert(kiln_graph_input_is_no_graph(&error));
}

Test(graph_input, a_missing_file_is_not_found)
{
    cr_assert_eq(kiln_graph_input_read(temporary_path("missing"), &input, &error), KILN_NOT_FOUND);
    cr_assert_not(kiln_graph_input_is_no_graph(&error));
}

Test(graph_input, a_directory_is_no_file)
{
    cr_assert_neq(kiln_graph_input_read(temporary_path("."), &input, &error), KILN_OK);
    cr_assert(strstr(error.text, "directory"), "%s", error.text);
}

Test(graph_input, large_files_are_refused_by_size)
{
    const char *path = write_file("large.bin", "", 0);
    cr_assert_eq(truncate(path, (off_t)KILN_GRAPH_FILE_LIMIT_BYTES + 1), 0);
    cr_assert_eq(kiln_graph_input_read(path, &input, &error), KILN_BAD_ARGUMENT);
    cr_assert(strstr(error.text, path), "%s", error.text);
}

Test(graph_input, a_pipe_that_nobody_writes_to_is_given_up, .timeout = 60)
{
    const char *path = temporary_path("pipe");
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(kiln_graph_input_read(path, &input, &error), KILN_IO);
    cr_assert(strstr(error.text, "nobody writes to the pipe"), "%s", error.text);
    cr_assert(strstr(error.text, path), "%s", error.text);
}

static void *write_slowly(void *path)
{
    static const char text[] = "{\"tensors\": [}";
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        if (i == 5)
            usleep(300000);
        if (write(descriptor, text + i, 1) != 1)
            abort();
    }
    (void)close(descriptor);
    return NULL;
}

Test(graph_input, a_pipe_is_read_to_its_end, .timeout = 60)
{
    static char path[1200];
    (void)snprintf(path, sizeof path, "%s", temporary_path("pipe"));
    cr_assert_eq(mkfifo(path, 0600), 0);
    pthread_t writer;
    cr_assert_eq(pthread_create(&writer, NULL, write_slowly, path), 0);
    cr_expect_eq(kiln_graph_input_read(path, &input, &error), KILN_BAD_ARGUMENT);
    cr_expect(strstr(error.text, "column 14"), "%s", error.text);
    cr_expect_eq(pthread_join(writer, NULL), 0);
}

Test(graph_input, devices_and_sockets_are_not_read, .timeout = 60)
{
    cr_expect_eq(kiln_graph_input_read("/dev/zero", &input, &error), KILN_BAD_ARGUMENT);
    cr_expect(strstr(error.text, "'/dev/zero': it is a device"), "%s", error.text);
    kiln_graph_input_fini(&input);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", temporary_path("socket"));
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(descriptor, (const void *)&address, sizeof address), 0);
    kiln_error_init(&error);
    cr_expect_eq(kiln_graph_input_read(address.sun_path, &input, &error), KILN_BAD_ARGUMENT);
    cr_expect(strstr(error.text, "it is a socket"), "%s", error.text);
    (void)close(descriptor);
}
