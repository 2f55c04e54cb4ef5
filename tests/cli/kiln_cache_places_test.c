/*
 * kiln cache where something stands that is no cache directory, no part of one, or no pack.
 */
#include "tests/cli/cache_fixture.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(kiln_cache_places, .init = cache_fixture_set_up, .fini = temporary_directory_remove,
          .timeout = 120);

/* Names of fan-out directories for what is none. */
static char link_name[] = "cache/e0";
static char file_name[] = "cache/b0";

static void spoil_parts(void)
{
    const char *const names[] = {link_name, file_name};
    for (size_t i = 0; i < 2; i++) /* that no entry needs */
        while (access(temporary_path(names[i]), F_OK) == 0)
            (i == 0 ? link_name : file_name)[sizeof link_name - 2]++;
    cr_assert_eq(symlink("/tmp", temporary_path(link_name)), 0);
    cr_assert_eq(close(open(temporary_path(file_name), O_CREAT | O_WRONLY, 0600)), 0);
}

static void assert_told_of_parts(const struct kiln_process *kiln)
{
    char sentence[64];
    (void)snprintf(sentence, sizeof sentence, "%s': it is a symbolic link", link_name);
    cr_assert(strstr(kiln->err, sentence), "%s", kiln->err);
    (void)snprintf(sentence, sizeof sentence, "%s': Not a directory", file_name);
    cr_assert(strstr(kiln->err, sentence), "%s", kiln->err);
}

Test(kiln_cache_places, a_part_that_cannot_be_used_costs_nothing_else)
{
    static const char *const sentences[] = {"it is a symbolic link", "Not a directory"};
    cache_fixture_fill();
    const char *key = cache_fixture_key("GELU_FWD");
    struct kiln_process kiln = KILN("cache", "export", temporary_path("good.pack"));
    cr_assert_eq(kiln.exit_code, 0);
    spoil_parts();
    kiln = KILN("cache", "ls", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(json_array_size(json_object_get(document, "entries")), 4);
    json_decref(document);
    assert_told_of_parts(&kiln);
    kiln = KILN("cache", "stats");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "entries    4"), "%s", kiln.out);
    assert_told_of_parts(&kiln);
    kiln = KILN("cache", "show", key);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    kiln = KILN("cache", "verify");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "entries    4"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "it is a symbolic link"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "damaged    2\n"), "%s", kiln.out);
    kiln = KILN("cache", "verify", temporary_path("cache"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "cache: 4 entries"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "damaged    2\n"), "%s", kiln.out);
    /* What could not be had is missing, which the exit code tells as it does of a damaged entry. */
    kiln = KILN("cache", "export", temporary_path("rest.pack"), "--json");
    document = cache_fixture_json(&kiln, 1);
    cr_assert_eq(json_array_size(json_object_get(document, "damaged")), 2);
    json_decref(document);
    assert_told_of_parts(&kiln);
    cr_assert(cache_fixture_is_same("good.pack", "rest.pack"));
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "other"), "cache", "import",
                     temporary_path("cache"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "added      4 entries"), "%s", kiln.out);
    assert_told_of_parts(&kiln);
    kiln = KILN("cache", "prune", "--max-size", "1");
    cr_assert(strstr(kiln.out, "removed    4 files"), "%s", kiln.out);
    cache_fixture_fill();
    kiln = KILN("cache", "clear");
    cr_assert_eq(kiln.exit_code, 3);
    assert_told_of_parts(&kiln);
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        const char *first = strstr(kiln.err, sentences[i]);
        cr_assert(first && !strstr(first + 1, sentences[i]), "once: %s", kiln.err);
    }
    kiln = KILN("cache", "stats");
    cr_assert(strstr(kiln.out, "entries    0"), "%s", kiln.out);
}

/* More packs than a process may have open. */
Test(kiln_cache_places, merge_opens_one_at_a_time)
{
    enum { PACKS = 50 };
    cache_fixture_fill();
    const char *pack = temporary_path("a.pack");
    cr_assert_eq(KILN("cache", "export", pack).exit_code, 0);
    const char *arguments[PACKS + 4] = {"cache", "merge", temporary_path("all.pack")};
    for (size_t i = 0; i < PACKS; i++)
        arguments[3 + i] = pack;
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = PACKS - 10;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct kiln_process kiln = kiln_process_of(arguments);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    char repeated[32];
    (void)snprintf(repeated, sizeof repeated, "repeated   %d\n", 4 * (PACKS - 1));
    cr_assert(strstr(kiln.out, repeated), "%s", kiln.out);
    cr_assert(cache_fixture_is_same("a.pack", "all.pack"));
}

/* Also below a file, where no directory can be. */
Test(kiln_cache_places, a_directory_that_is_missing_or_a_file_is_a_mistake)
{
    static const char *const names[] = {"none", "file", "file/x"};
    static const char *const commands[][2] = {
        {"cache", "stats"}, {"cache", "ls"},    {"cache", "show"},   {"cache", "why"},
        {"cache", "prune"}, {"cache", "clear"}, {"cache", "verify"}, {"run", NULL},
        {"explain", NULL},  {"compile", NULL}};
    enum { FIRST_THAT_MAKES_IT = 7, COMMANDS = sizeof commands / sizeof *commands };
    cr_assert_eq(close(open(temporary_path("file"), O_CREAT | O_WRONLY, 0600)), 0);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < (i == 0 ? FIRST_THAT_MAKES_IT : COMMANDS); j++) {
            const char *arguments[8] = {commands[j][0], "--cache", temporary_path(names[i])};
            const char *action = commands[j][1];
            size_t count = 3;
            if (action)
                arguments[count++] = action;
            if (action && strcmp(action, "show") == 0)
                arguments[count++] = "abc";
            else if (!action || strcmp(action, "why") == 0)
                arguments[count++] = sample_path("current/residual_add_relu_fp32.json");
            struct kiln_process kiln = kiln_process_of(arguments);
            cr_expect_eq(kiln.exit_code, 1, "%s %s %s: %d %s", arguments[0], action ? action : "",
                         names[i], kiln.exit_code, kiln.err);
        }
    }
}

/* A directory too high or too deep is no cache with nothing in it. */
Test(kiln_cache_places, a_directory_that_is_no_cache_is_told)
{
    cache_fixture_fill();
    char deep[4200];
    (void)snprintf(deep, sizeof deep, "%s", cache_fixture_entry("cache", ""));
    *strrchr(deep, '/') = '\0';
    char high[4200];
    (void)snprintf(high, sizeof high, "%s", temporary_path("."));
    const char *const wrong[] = {deep, high};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kiln_process kiln = KILN("cache", "import", wrong[i]);
        cr_assert_eq(kiln.exit_code, 1, "%s: %s", wrong[i], kiln.out);
        cr_assert(strstr(kiln.err, "is no cache directory\nhint: "), "%s", kiln.err);
        kiln = KILN("cache", "verify", wrong[i]);
        cr_assert_eq(kiln.exit_code, 1, "%s: %s", wrong[i], kiln.out);
        cr_assert(strstr(kiln.out, "is no cache directory"), "%s", kiln.out);
        kiln = KILN("cache", "merge", temporary_path("a.pack"), temporary_path("cache"), wrong[i]);
        cr_assert_eq(kiln.exit_code, 1, "%s: %s", wrong[i], kiln.out);
        cr_assert_neq(access(temporary_path("a.pack"), F_OK), 0);
    }
    /* One that is new, and one that was cleared. */
    cr_assert_eq(mkdir(temporary_path("empty"), 0700), 0);
    cr_assert_eq(KILN("cache", "import", temporary_path("empty")).exit_code, 0);
    cr_assert_eq(KILN("cache", "clear").exit_code, 0);
    cr_assert_eq(KILN("cache", "verify", temporary_path("cache")).exit_code, 0);
}

static mode_t type_of(const char *file)
{
    struct stat attributes;
    cr_assert_eq(lstat(temporary_path(file), &attributes), 0, "%s", file);
    return attributes.st_mode & S_IFMT;
}

static const char *first_symbol(const char *shown)
{
    static char symbol[64];
    json_t *document = parse_json(shown);
    const json_t *kernels = json_object_get(json_object_get(document, "program"), "kernels");
    (void)snprintf(symbol, sizeof symbol, "%s", text_member(json_array_get(kernels, 0), "symbol"));
    json_decref(document);
    return symbol;
}

/* A rename puts a file in the place of what was there: as root, in that of /dev/null. */
Test(kiln_cache_places, devices_and_links_stay_what_they_are)
{
    cache_fixture_fill();
    struct kiln_process kiln = KILN("cache", "export", temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert_eq(mkfifo(temporary_path("fifo"), 0600), 0);
    cr_assert_eq(symlink("fifo", temporary_path("to_fifo")), 0);
    static const char *const names[] = {"fifo", "to_fifo"};
    for (size_t i = 0; i < 2; i++) {
        kiln = KILN("cache", "export", temporary_path(names[i]));
        cr_assert_eq(kiln.exit_code, 3, "%s", kiln.out);
        cr_assert(strstr(kiln.err, "it is not an ordinary file"), "%s", kiln.err);
        kiln = KILN("cache", "merge", temporary_path(names[i]), temporary_path("a.pack"));
        cr_assert_eq(kiln.exit_code, 3, "%s", kiln.out);
        cr_assert(strstr(kiln.err, "it is not an ordinary file"), "%s", kiln.err);
    }
    cr_assert_eq(type_of("fifo"), S_IFIFO);
    cr_assert_eq(type_of("to_fifo"), S_IFLNK);

    cr_assert_eq(symlink("b.pack", temporary_path("to_file")), 0);
    kiln = KILN("cache", "export", temporary_path("to_file"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(type_of("to_file"), S_IFLNK);
    cr_assert(cache_fixture_is_same("a.pack", "b.pack"));
    kiln = KILN("cache", "merge", temporary_path("to_file"), temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(type_of("to_file"), S_IFLNK);

    const char *key = cache_fixture_key("GELU_FWD");
    cr_assert_eq(mkdir(temporary_path("out"), 0700), 0);
    char file[96];
    kiln = KILN("cache", "show", key, "--json");
    (void)snprintf(file, sizeof file, "out/%s.so", first_symbol(kiln.out));
    cr_assert_eq(symlink("code", temporary_path(file)), 0);
    kiln = KILN("cache", "show", key, "--extract", temporary_path("out"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(type_of(file), S_IFLNK);
    cr_assert_eq(unlink(temporary_path("out/code")), 0, "it was written through the link");
    cr_assert_eq(mkfifo(temporary_path("out/code"), 0600), 0);
    kiln = KILN("cache", "show", key, "--extract", temporary_path("out"));
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "it is not an ordinary file"), "%s", kiln.err);
    cr_assert_eq(type_of("out/code"), S_IFIFO);
}
