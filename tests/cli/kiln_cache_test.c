#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

TestSuite(kiln_cache, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 120);

static void fill(void)
{
    struct kiln_process kiln =
        KILN("compile", "-t", "host", sample_path("current/bias_gelu_fp16.json"),
             sample_path("current/residual_add_relu_fp32.json"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
}

static json_int_t entries(void)
{
    struct kiln_process kiln = KILN("cache", "stats", "--json");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    json_int_t count = integer_member(document, "entries");
    cr_assert_eq(integer_member(document, "bytes") > 0, count > 0);
    json_decref(document);
    return count;
}

Test(kiln_cache, stats_count_what_compile_stored)
{
    cr_assert_eq(entries(), 0);
    fill();
    cr_assert_eq(entries(), 4, "two programs, and the kernel of each");
    struct kiln_process kiln = KILN("cache", "stats");
    cr_assert(strstr(kiln.out, "entries    4"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, temporary_path("cache")), "%s", kiln.out);
}

Test(kiln_cache, clear_says_what_it_removed)
{
    fill();
    struct kiln_process kiln = KILN("cache", "clear");
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "removed    4 files"), "%s", kiln.out);
    cr_assert_eq(entries(), 0);
    kiln = KILN("cache", "clear", "--json");
    json_t *document = parse_json(kiln.out);
    cr_assert_eq(integer_member(document, "removed_files"), 0);
    json_decref(document);
}

/* Flips one byte in the middle of the first file of some size. */
static int damage(const char *path, const struct stat *attributes, int kind, struct FTW *place)
{
    (void)place;
    if (kind != FTW_F || attributes->st_size < 256)
        return 0;
    FILE *file = fopen(path, "r+b");
    fseek(file, attributes->st_size / 2, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(byte ^ 0x40, file);
    fclose(file);
    return 1;
}

Test(kiln_cache, verify_finds_a_flipped_bit)
{
    fill();
    struct kiln_process kiln = KILN("cache", "verify");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "damaged    0"), "%s", kiln.out);
    cr_assert_eq(nftw(temporary_path("cache"), damage, 8, FTW_PHYS), 1);
    kiln = KILN("cache", "verify", "--json");
    cr_assert_eq(kiln.exit_code, 1);
    json_t *document = parse_json(kiln.out);
    const json_t *damaged = json_object_get(document, "damaged");
    cr_assert_eq(json_array_size(damaged), 1);
    cr_assert(*text_member(json_array_get(damaged, 0), "reason"));
    json_decref(document);
}

/* A name that was mistyped is told, and nothing is made of it. */
Test(kiln_cache, looking_creates_nothing)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s", temporary_path("typo/deep/er"));
    char pack[4200];
    (void)snprintf(pack, sizeof pack, "%s", temporary_path("a.pack"));
    const char *const actions[][3] = {
        {"ls"}, {"stats"}, {"verify"}, {"prune"}, {"clear"}, {"show", "12"}, {"export", pack},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        struct kiln_process kiln = KILN("cache", "--cache", path, actions[i][0], actions[i][1]);
        cr_assert_eq(kiln.exit_code, 1, "%s: %s", actions[i][0], kiln.out);
        cr_assert(strstr(kiln.err, "typo/deep/er': No such file or directory"), "%s", kiln.err);
        cr_assert_eq(directory_count(temporary_path(".")), 0);
        /* One that the environment names is simply empty. */
        kiln = KILN("cache", actions[i][0], actions[i][1]);
        cr_assert_eq(kiln.exit_code, i < 5 ? 0 : 1, "%s: %s", actions[i][0], kiln.err);
        cr_assert_eq(directory_count(temporary_path(".")), 0);
    }
    struct kiln_process kiln = KILN("cache", "ls", "--json");
    json_t *document = parse_json(kiln.out);
    cr_assert_str_eq(text_member(document, "directory"), temporary_path("cache"));
    json_decref(document);
}

Test(kiln_cache, no_directory_is_an_environment_error)
{
    static const char *const memory_only[] = {"KILN_CACHE_DIR=", NULL};
    static const char *const arguments[] = {"cache", "stats", NULL};
    struct kiln_process without = {.arguments = arguments, .environment = memory_only};
    kiln_process_run(&without);
    cr_assert_eq(without.exit_code, 3);
    cr_assert(strstr(without.err, "there is no cache directory"), "%s", without.err);
}
