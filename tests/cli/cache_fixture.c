#include "tests/cli/cache_fixture.h"

#include "runtime/support/file.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char gelu[] = "current/bias_gelu_fp16.json";
static const char relu[] = "current/residual_add_relu_fp32.json";

void cache_fixture_set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
}

void cache_fixture_fill(void)
{
    struct kiln_process kiln = KILN("compile", "-t", "host", sample_path(gelu), sample_path(relu));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
}

struct kiln_process cache_fixture_run(const char *variable, const char *const *arguments)
{
    const char *const environment[] = {variable, NULL};
    struct kiln_process process = {.arguments = arguments, .environment = environment};
    kiln_process_run(&process);
    return process;
}

const char *cache_fixture_variable(const char *name, const char *file)
{
    static char texts[8][4200];
    static unsigned next;
    char *text = texts[next++ % 8];
    (void)snprintf(text, sizeof texts[0], "%s=%s", name, temporary_path(file));
    return text;
}

json_t *cache_fixture_json(const struct kiln_process *kiln, int exit_code)
{
    cr_assert_eq(kiln->exit_code, exit_code, "%s%s", kiln->out, kiln->err);
    return parse_json(kiln->out);
}

struct kiln_buffer cache_fixture_content(const char *file)
{
    struct kiln_error error;
    struct kiln_buffer content;
    kiln_error_init(&error);
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read(temporary_path(file), 1 << 24, &content, &error), KILN_OK, "%s",
                 error.text);
    return content;
}

bool cache_fixture_is_same(const char *file, const char *other)
{
    struct kiln_buffer a = cache_fixture_content(file);
    struct kiln_buffer b = cache_fixture_content(other);
    bool same = a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    kiln_buffer_fini(&a);
    kiln_buffer_fini(&b);
    return same;
}

static const char *found_file;
static int find_entry(const char *path, const struct stat *attributes, int kind, struct FTW *place)
{
    (void)attributes;
    (void)place;
    static char found[4096];
    if (kind != FTW_F || strstr(path, found_file) == NULL)
        return 0;
    (void)snprintf(found, sizeof found, "%s", path);
    found_file = found;
    return 1;
}

const char *cache_fixture_entry(const char *directory, const char *key)
{
    found_file = *key ? key : ".kiln";
    cr_assert_eq(nftw(temporary_path(directory), find_entry, 8, FTW_PHYS), 1);
    return found_file;
}

void cache_fixture_flip_byte(const char *path, off_t at)
{
    unsigned char byte;
    int descriptor = open(path, O_RDWR);
    cr_assert_eq(pread(descriptor, &byte, 1, at), 1);
    byte ^= 0x40;
    cr_assert_eq(pwrite(descriptor, &byte, 1, at), 1);
    cr_assert_eq(close(descriptor), 0);
}

const char *cache_fixture_key(const char *graph)
{
    static char keys[4][64];
    static unsigned next;
    struct kiln_process kiln = KILN("cache", "ls", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    const json_t *entries = json_object_get(document, "entries");
    char *key = keys[next++ % 4];
    *key = '\0';
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *of_graph = json_string_value(json_object_get(entry, "graph"));
        if (of_graph && strstr(of_graph, graph))
            (void)snprintf(key, sizeof keys[0], "%s", text_member(entry, "key"));
    }
    json_decref(document);
    cr_assert(*key, "no entry of %s", graph);
    return key;
}
