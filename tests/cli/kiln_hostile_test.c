/* Bytes of any kind get an answer: exit code 0 or 1 and valid JSON, never a signal. */
#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(kiln_hostile, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 240);

/* Compiles a folder of damaged copies: one process for all of them. */
static void compile_folder(size_t count)
{
    struct kiln_process kiln = KILN("compile", "-t", "host", "--json", temporary_path("damaged"));
    cr_assert(kiln.exit_code == 0 || kiln.exit_code == 1, "exit code %d: %s", kiln.exit_code,
              kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *summary = json_object_get(document, "summary");
    json_int_t answered = integer_member(summary, "skipped_files") +
                          integer_member(summary, "declined") +
                          integer_member(summary, "compiled") + integer_member(summary, "disk") +
                          integer_member(summary, "memory") + integer_member(summary, "unreadable");
    cr_assert_eq(integer_member(summary, "failed"), 0, "%s", kiln.err);
    cr_assert_eq((size_t)answered, count, "%s", kiln.out);
    json_decref(document);
}

static void write_damaged(size_t number, const char *suffix, const void *bytes, size_t size)
{
    char name[64];
    snprintf(name, sizeof(name), "damaged/%05zu.%s", number, suffix);
    cr_assert(write_file(name, bytes, size));
}

static size_t slurp(const char *path, unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static unsigned char original[1 << 16];

Test(kiln_hostile, truncated_and_flipped_json)
{
    size_t size =
        slurp(sample_path("nov2025/leaky_relu_to_int32.json"), original, sizeof(original));
    cr_assert_gt(size, 0);
    cr_assert_eq(mkdir(temporary_path("damaged"), 0700), 0);
    size_t count = 0;
    for (size_t cut = 0; cut < size; cut += 7)
        write_damaged(count++, "json", original, cut);
    srand(20240229);
    for (int i = 0; i < 100; i++) {
        size_t at = (size_t)rand() % size;
        unsigned char kept = original[at];
        original[at] = (unsigned char)rand();
        write_damaged(count++, "json", original, size);
        original[at] = kept;
    }
    compile_folder(count);
}

Test(kiln_hostile, truncated_flatbuffers)
{
    size_t size = slurp(KILN_SHARED_GRAPHS "/current/chain_3_fp32.bin", original, sizeof(original));
    if (!size)
        cr_skip("the shared graphs are not here");
    cr_assert_eq(mkdir(temporary_path("damaged"), 0700), 0);
    for (size_t cut = 0; cut < size; cut++)
        write_damaged(cut, "bin", original, cut);
    compile_folder(size);
}

Test(kiln_hostile, deep_json_is_refused)
{
    enum { DEPTH = 100000 };
    static char text[DEPTH + 16] = "{\"nodes\": ";
    memset(text + strlen(text), '[', DEPTH);
    struct kiln_process kiln = KILN("run", write_file("deep.json", text, strlen(text)));
    cr_assert_eq(kiln.exit_code, 1, "exit code %d: %.200s", kiln.exit_code, kiln.err);
}

Test(kiln_hostile, huge_files_are_refused_by_name)
{
    static const char *const arguments[] = {"explain", "/dev/zero", NULL};
    struct kiln_process kiln = {.arguments = arguments};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "/dev/zero"), "%s", kiln.err);
}
