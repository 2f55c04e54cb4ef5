/*
 * kiln cache ls, show, prune, export, import, merge; packs as layers of other processes.
 */
#include "cache/cache_store.h"
#include "runtime/support/file.h"
#include "tests/cache/sample_key.h"
#include "tests/cli/cache_fixture.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

TestSuite(kiln_cache_pack, .init = cache_fixture_set_up, .fini = temporary_directory_remove,
          .timeout = 120);

static const char gelu[] = "current/bias_gelu_fp16.json";
static const char relu[] = "current/residual_add_relu_fp32.json";

/* Entries of keys that are no programs', as of another version. */
static void insert_strangers(unsigned count)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    const struct kiln_cache_options options = {
        .directory = temporary_path("cache"), .layers = "", .system_layer = "", .remote = ""};
    kiln_error_init(&error);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    for (unsigned i = 0; i < count; i++) {
        struct kiln_cache_key key = sample_key(i);
        cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, "payload", 7, &error), KILN_OK);
        kiln_cache_key_fini(&key);
    }
    kiln_cache_store_close(store);
}

Test(kiln_cache_pack, ls_says_what_entries_are_last_used_first)
{
    cache_fixture_fill();
    const char *old = cache_fixture_key("GELU_FWD");
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 3 * 86400}};
    cr_assert_eq(utimensat(AT_FDCWD, cache_fixture_entry("cache", old), times, 0), 0);
    struct kiln_process kiln = KILN("cache", "ls", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    const json_t *entries = json_object_get(document, "entries");
    cr_assert_eq(json_array_size(entries), 4, "two programs, then the kernel of each");
    for (size_t i = 0; i < 4; i++) {
        const json_t *entry = json_array_get(entries, i);
        cr_assert_str_eq(text_member(entry, "kind"), i < 2 ? "program" : "kernel");
        cr_assert(json_is_null(json_object_get(entry, i < 2 ? "kernel" : "graph")));
        cr_assert_eq(strncmp(text_member(entry, "compiler"), "host options-", 13), 0);
        cr_assert_gt(integer_member(entry, "code_bytes"), 1000);
    }
    cr_assert_eq(strncmp(text_member(json_array_get(entries, 2), "kernel"), "kiln_pointwise_", 15),
                 0);
    cr_assert_eq(integer_member(json_array_get(entries, 0), "missing_kernels"), 0);
    const json_t *first = json_array_get(entries, 0);
    const json_t *second = json_array_get(entries, 1);
    cr_assert_eq(strncmp(text_member(first, "target"), "host:", 5), 0);
    cr_assert(strstr(text_member(first, "graph"), "RELU_FWD -> float ["), "%s",
              text_member(first, "graph"));
    cr_assert_str_eq(text_member(second, "graph"), "ADD, GELU_FWD -> half [64,1024]");
    cr_assert_str_eq(text_member(second, "key"), old);
    cr_assert_geq(integer_member(second, "age_seconds"), 3 * 86400);
    cr_assert_lt(integer_member(first, "age_seconds"), 3600);
    cr_assert_eq(integer_member(first, "kernels"), 1);
    cr_assert_gt(integer_member(first, "code_bytes"), 1000);
    cr_assert(json_is_null(json_object_get(first, "layer")));
    cr_assert(json_is_null(json_object_get(first, "damage")));
    json_decref(document);

    kiln = KILN("cache", "ls");
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "3 d  local"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "ADD, GELU_FWD -> half [64,1024]"), "%s", kiln.out);
    kiln = KILN("cache", "ls", "-t", "gfx90a", "--json");
    document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(json_array_size(json_object_get(document, "entries")), 0);
    json_decref(document);
    kiln = KILN("cache", "ls", "-t", "gfx9999");
    cr_assert_eq(kiln.exit_code, 2);
}

Test(kiln_cache_pack, ls_and_show_survive_what_is_not_theirs)
{
    cache_fixture_fill();
    cache_fixture_flip_byte(cache_fixture_entry("cache", cache_fixture_key("GELU_FWD")), 100);
    insert_strangers(1);
    struct kiln_process kiln = KILN("cache", "ls");
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "damaged: its checksum"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "its key"), "%s", kiln.out);
    struct kiln_cache_key key = sample_key(0);
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_cache_key_hex(&key, hex);
    kiln_cache_key_fini(&key);
    kiln = KILN("cache", "show", hex);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "unknown    its key"), "%s", kiln.out);
    kiln = KILN("cache", "show", hex, "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert(json_is_null(json_object_get(document, "fields")));
    cr_assert(json_is_null(json_object_get(document, "program")));
    json_decref(document);
    kiln = KILN("cache", "show", hex, "--extract", temporary_path("out"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "nothing can be extracted"), "%s", kiln.err);
}

Test(kiln_cache_pack, show_reads_key_and_kernels)
{
    cache_fixture_fill();
    char prefix[9];
    const char *key = cache_fixture_key("GELU_FWD");
    (void)snprintf(prefix, sizeof prefix, "%s", key);
    struct kiln_process kiln =
        KILN("cache", "show", prefix, "--json", "--extract", temporary_path("out/code"));
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert_str_eq(text_member(document, "key"), key);
    const json_t *fields = json_object_get(document, "fields");
    cr_assert_eq(strncmp(text_member(fields, "target"), "host:", 5), 0);
    cr_assert_eq(strncmp(text_member(document, "compiler"), "host options-", 13), 0);
    cr_assert_eq(strncmp(text_member(document, "build"), "0.", 2), 0);
    cr_assert_eq(strncmp(text_member(fields, "compile_options"), "host options-", 13), 0);
    cr_assert_eq(strlen(text_member(fields, "templates")), 64);
    const json_t *graph = json_object_get(fields, "graph");
    cr_assert_eq(json_array_size(json_object_get(graph, "nodes")), 2);
    const json_t *node = json_array_get(json_object_get(graph, "nodes"), 1);
    cr_assert_str_eq(text_member(node, "operation"), "GELU_FWD");
    const json_t *kernels = json_object_get(json_object_get(document, "program"), "kernels");
    cr_assert_eq(json_array_size(kernels), 1);
    const json_t *kernel = json_array_get(kernels, 0);
    cr_assert_eq(json_array_size(json_object_get(kernel, "grid")), 3);
    struct kiln_error error;
    struct kiln_buffer code;
    kiln_error_init(&error);
    kiln_buffer_init(&code);
    cr_assert_eq(kiln_file_read(text_member(kernel, "file"), 1 << 24, &code, &error), KILN_OK, "%s",
                 error.text);
    cr_assert_eq(code.size, (size_t)integer_member(kernel, "code_bytes"));
    cr_assert_eq(memcmp(code.data, "\177ELF", 4), 0);
    kiln_buffer_fini(&code);
    json_decref(document);

    kiln = KILN("cache", "show", prefix);
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "options    shapes are arguments"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "2 nodes"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "kiln_pointwise_"), "%s", kiln.out);
    kiln = KILN("cache", "show", prefix, "--extract", "/dev/null/x");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "/dev/null"), "%s", kiln.err);
}

Test(kiln_cache_pack, keys_that_name_none_or_several)
{
    insert_strangers(40); /* of 16 first digits some have several */
    struct kiln_process kiln = KILN("cache", "ls", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    const json_t *entries = json_object_get(document, "entries");
    cr_assert_eq(json_array_size(entries), 40);
    unsigned counts[16] = {0};
    char digit[2] = "0";
    for (size_t i = 0; i < 40; i++)
        counts[strtoul((char[2]){*text_member(json_array_get(entries, i), "key"), 0}, NULL, 16)]++;
    unsigned most = 0;
    for (unsigned i = 0; i < 16; i++)
        most = counts[i] > counts[most] ? i : most;
    digit[0] = "0123456789ABCDEF"[most];
    kiln = KILN("cache", "show", digit);
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "several cache entries start with"), "%s", kiln.err);
    unsigned listed = 0;
    for (size_t i = 0; i < 40; i++)
        listed += strstr(kiln.err, text_member(json_array_get(entries, i), "key")) != NULL;
    cr_assert_eq(listed, counts[most] < 8 ? counts[most] : 8);
    json_decref(document);
    kiln = KILN("cache", "show", "00000000000000000000000000000000");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "no cache entry starts with"), "%s", kiln.err);
    static const char *const none[] = {"", "xyz", "../..", "000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        kiln = KILN("cache", "show", none[i]);
        cr_assert_eq(kiln.exit_code, 1);
        cr_assert(strstr(kiln.err, "is not the start of"), "%s", kiln.err);
    }
}

Test(kiln_cache_pack, what_was_exported_is_imported)
{
    cache_fixture_fill();
    struct kiln_process kiln = KILN("cache", "export", temporary_path("a.pack"), "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(integer_member(document, "entries"), 4);
    json_decref(document);
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "other"), "cache", "import",
                     temporary_path("a.pack"), "--json");
    document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(integer_member(document, "added"), 4);
    cr_assert_eq(integer_member(document, "present"), 0);
    json_decref(document);
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "other"), "cache", "import",
                     temporary_path("cache"));
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "added      0 entries"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "present    4"), "%s", kiln.out);
    /* The same entries give the same pack, whatever way they took. */
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "other"), "cache", "export",
                     temporary_path("b.pack"));
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(cache_fixture_is_same("a.pack", "b.pack"));
    kiln = KILN("cache", "export", temporary_path("one.pack"), cache_fixture_key("GELU_FWD"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "exported   2 entries"), "with its kernel: %s", kiln.out);
    cr_assert_not(cache_fixture_is_same("a.pack", "one.pack"));
    kiln = KILN("cache", "merge", temporary_path("c.pack"), temporary_path("one.pack"),
                temporary_path("other"), temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "merged     4 entries"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "repeated   6"), "%s", kiln.out);
    cr_assert(cache_fixture_is_same("a.pack", "c.pack"));
    /* Over one of its own sources, and without any cache. */
    kiln = KILN_WITH("KILN_CACHE_DIR=", "cache", "merge", temporary_path("one.pack"),
                     temporary_path("one.pack"), temporary_path("c.pack"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_str_eq(kiln.err, "");
    cr_assert(cache_fixture_is_same("a.pack", "one.pack"));
    kiln = KILN("cache", "verify", temporary_path("one.pack"), temporary_path("other"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.out);
}

Test(kiln_cache_pack, export_for_a_target)
{
    struct kiln_process kiln = KILN("compile", "-t", "host,gfx90a,gfx1030", sample_path(gelu));
    if (kiln.exit_code != 0)
        skip_test("no compiler for AMD GPUs");
    kiln = KILN("cache", "export", temporary_path("a.pack"), "-t", "gfx90a", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(integer_member(document, "entries"), 2, "the program and its kernel");
    json_decref(document);
    kiln = KILN("cache", "export", temporary_path("a.pack"), "-t", "gfx90a:xnack-");
    cr_assert_eq(kiln.exit_code, 0);
    kiln = KILN("cache", "export", temporary_path("b.pack"), "-t", "gfx908:xnack+");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "no cache entry of 6 is for 'gfx908'"), "%s", kiln.err);
    cr_assert_neq(access(temporary_path("b.pack"), F_OK), 0);
    kiln = KILN("cache", "export", temporary_path("h.pack"), "-t", "host", "--json");
    document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(integer_member(document, "entries"), 2);
    json_decref(document);
}

/* The point of packs: a process with nothing of its own compiles nothing. It could not. */
Test(kiln_cache_pack, a_process_with_a_pack_compiles_nothing)
{
    cache_fixture_fill();
    struct kiln_process kiln = KILN("cache", "export", temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    const char *const environment[] = {cache_fixture_variable("KILN_CACHE_LAYERS", "a.pack"),
                                       cache_fixture_variable("KILN_CACHE_DIR", "empty"),
                                       "KILN_COMPILE_WORKER=/nonexistent/kiln-compile", NULL};
    const char *const compile[] = {"compile",         "-t",     "host", sample_path(gelu),
                                   sample_path(relu), "--json", NULL};
    struct kiln_process packed = {.arguments = compile, .environment = environment};
    kiln_process_run(&packed);
    json_t *document = cache_fixture_json(&packed, 0);
    const json_t *results = json_object_get(document, "results");
    cr_assert_eq(json_array_size(results), 2, "%s", packed.out);
    for (size_t i = 0; i < 2; i++)
        cr_assert_str_eq(text_member(json_array_get(results, i), "origin"), "disk");
    json_decref(document);
    cr_assert_eq(directory_count(temporary_path("empty")), 0);
    const char *const run[] = {"run", "-d", "host", "--verify", sample_path(gelu), NULL};
    packed = (struct kiln_process){.arguments = run, .environment = environment};
    kiln_process_run(&packed);
    cr_assert_eq(packed.exit_code, 0, "%s%s", packed.out, packed.err);
    /* Without the pack it fails: the test can. */
    const char *const bare[] = {"KILN_CACHE_LAYERS=", environment[1], environment[2], NULL};
    packed = (struct kiln_process){.arguments = compile, .environment = bare};
    kiln_process_run(&packed);
    cr_assert_neq(packed.exit_code, 0);

    const char *const ls[] = {"cache", "ls", "--json", NULL};
    packed = (struct kiln_process){.arguments = ls, .environment = environment};
    kiln_process_run(&packed);
    document = cache_fixture_json(&packed, 0);
    const json_t *entry = json_array_get(json_object_get(document, "entries"), 0);
    cr_assert_str_eq(text_member(entry, "layer"), temporary_path("a.pack"));
    cr_assert(json_is_null(json_object_get(entry, "last_use")));
    json_decref(document);
}

/* A layer is enough to look into. */
Test(kiln_cache_pack, no_directory_is_needed_to_look_into_layers)
{
    cache_fixture_fill();
    (void)KILN("cache", "export", temporary_path("a.pack"));
    const char *const environment[] = {cache_fixture_variable("KILN_CACHE_LAYERS", "a.pack"),
                                       "KILN_CACHE_DIR=", NULL};
    const char *const actions[][4] = {{"cache", "ls"},
                                      {"cache", "stats"},
                                      {"cache", "verify"},
                                      {"cache", "show", cache_fixture_key("GELU_FWD")},
                                      {"cache", "clear"},
                                      {"cache", "prune"},
                                      {"cache", "import", temporary_path("a.pack")},
                                      {"cache", "export", temporary_path("b.pack")}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        struct kiln_process kiln = {.arguments = actions[i], .environment = environment};
        kiln_process_run(&kiln);
        cr_assert_eq(kiln.exit_code, i < 4 ? 0 : i < 7 ? 3 : 1, "%s: %s", actions[i][1], kiln.err);
        cr_assert(i < 4 ? strstr(kiln.out, i == 3 ? "GELU" : "4") != NULL
                        : strstr(kiln.err, "there is no cache directory") != NULL,
                  "%s%s", kiln.out, kiln.err);
    }
}

Test(kiln_cache_pack, a_pack_that_others_may_write_to_has_a_hint)
{
    static const char hint[] = "\nhint: chmod go-w '";
    cache_fixture_fill();
    (void)KILN("cache", "export", temporary_path("a.pack"));
    cr_assert_eq(chmod(temporary_path("a.pack"), 0664), 0);
    struct kiln_process kiln = KILN("cache", "import", temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, hint), "%s", kiln.err);
    /* That is a line of the log. */
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_LAYERS", "a.pack"), "cache", "ls");
    cr_assert(strstr(kiln.err, "; hint: chmod go-w '"), "%s", kiln.err);
    kiln = KILN("cache", "verify", temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, hint), "%s", kiln.out);
}

static void damage_kernels(void)
{
    struct kiln_process kiln = KILN("cache", "ls", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    const json_t *entries = json_object_get(document, "entries");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (json_is_string(json_object_get(entry, "kernel")))
            cache_fixture_flip_byte(cache_fixture_entry("cache", text_member(entry, "key")), 50);
    }
    json_decref(document);
}

Test(kiln_cache_pack, damage_is_left_out_and_told)
{
    cache_fixture_fill();
    const char *key = cache_fixture_key("GELU_FWD");
    const char *other = cache_fixture_key("RELU_FWD");
    struct kiln_process kiln = KILN("cache", "export", temporary_path("good.pack"));
    cr_assert_eq(kiln.exit_code, 0);
    struct kiln_buffer pack = cache_fixture_content("good.pack");
    struct kiln_buffer entry;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_init(&entry);
    cr_assert_eq(kiln_file_read(cache_fixture_entry("cache", key), 1 << 24, &entry, &error),
                 KILN_OK);
    const char *at = memmem(pack.data, pack.size, entry.data, entry.size);
    cr_assert_not_null(at, "the entry in the pack is the file");
    cache_fixture_flip_byte(temporary_path("good.pack"), at - pack.data + 50);
    kiln_buffer_fini(&pack);
    kiln_buffer_fini(&entry);

    kiln = KILN("cache", "verify", temporary_path("good.pack"), "--json");
    json_t *document = cache_fixture_json(&kiln, 1);
    const json_t *damaged = json_object_get(document, "damaged");
    cr_assert_eq(json_array_size(damaged), 1);
    cr_assert_str_eq(text_member(json_array_get(damaged, 0), "file"), key);
    json_decref(document);
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_LAYERS", "good.pack"), "cache", "verify");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "damaged    1"), "%s", kiln.out);

    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "other"), "cache", "import",
                     temporary_path("good.pack"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "added      3 entries"), "%s", kiln.out);
    cr_assert(strstr(kiln.err, key), "%s", kiln.err);
    cache_fixture_flip_byte(cache_fixture_entry("cache", key), 50);
    kiln = KILN("cache", "export", temporary_path("rest.pack"), "--json");
    document = cache_fixture_json(&kiln, 1);
    cr_assert_eq(integer_member(document, "entries"), 3);
    cr_assert_eq(json_array_size(json_object_get(document, "damaged")), 1);
    json_decref(document);
    cr_assert(strstr(kiln.err, "is left out"), "%s", kiln.err);
    cache_fixture_flip_byte(cache_fixture_entry("cache", other), 50);
    damage_kernels();
    kiln = KILN("cache", "export", temporary_path("none.pack"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "all entries of the cache directory are damaged"), "%s", kiln.err);
    kiln = KILN("cache", "export", "-t", "gfx90a", temporary_path("none.pack"));
    cr_assert(strstr(kiln.err, "all entries of the cache directory are damaged"), "%s", kiln.err);
    cr_assert_neq(access(temporary_path("none.pack"), F_OK), 0);
    /* The directory is only read. */
    kiln = KILN("cache", "verify");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "entries    4"), "%s", kiln.out);
}

Test(kiln_cache_pack, a_pack_that_is_none_changes_nothing)
{
    cache_fixture_fill();
    struct kiln_process kiln = KILN("cache", "export", temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 0);
    kiln = KILN("cache", "export", temporary_path("b.pack"));
    cr_assert_eq(truncate(temporary_path("b.pack"), 5000), 0);
    kiln = KILN("cache", "merge", temporary_path("a.pack"), temporary_path("cache"),
                temporary_path("b.pack"));
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    cr_assert(strstr(kiln.err, temporary_path("b.pack")), "%s", kiln.err);
    kiln = KILN("cache", "verify", temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 0);
    kiln = KILN("cache", "verify", temporary_path("b.pack"));
    cr_assert_eq(kiln.exit_code, 1);
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_LAYERS", "b.pack"), "cache", "verify");
    cr_assert_eq(kiln.exit_code, 1);
    /* An import goes on with the next one. */
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "other"), "cache", "import",
                     temporary_path("b.pack"), temporary_path("nothing"), temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "added      4 entries"), "%s", kiln.out);
    cr_assert(strstr(kiln.err, temporary_path("nothing")), "%s", kiln.err);
    /* What cannot be written leaves what was there. */
    struct kiln_buffer before = cache_fixture_content("a.pack");
    kiln = KILN("cache", "export", temporary_path("a.pack"), "0123456789abcdef0123456789abcdef");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "is not written"), "%s", kiln.err);
    kiln = KILN_WITH(cache_fixture_variable("KILN_CACHE_DIR", "void"), "cache", "export",
                     temporary_path("a.pack"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "the cache directory has no entry"), "%s", kiln.err);
    kiln = KILN("cache", "export", temporary_path("nowhere/a.pack"));
    cr_assert_neq(kiln.exit_code, 0);
    struct kiln_buffer after = cache_fixture_content("a.pack");
    cr_assert_eq(after.size, before.size);
    cr_assert_eq(memcmp(after.data, before.data, after.size), 0);
    kiln_buffer_fini(&before);
    kiln_buffer_fini(&after);
    /* a.pack, b.pack, cache, other */
    cr_assert_eq(directory_count(temporary_path("")), 4);
}

Test(kiln_cache_pack, prune_by_size_and_age)
{
    cache_fixture_fill();
    const char *old = cache_fixture_key("GELU_FWD");
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 3 * 86400}};
    cr_assert_eq(utimensat(AT_FDCWD, cache_fixture_entry("cache", old), times, 0), 0);
    struct kiln_process kiln = KILN("cache", "prune", "--older-than", "4", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(integer_member(document, "removed_files"), 0);
    cr_assert_eq(integer_member(document, "kept_files"), 4);
    json_decref(document);
    kiln = KILN("cache", "prune", "--older-than", "2");
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "removed    1 file, "), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "kept       3 files, "), "%s", kiln.out);
    (void)cache_fixture_key("RELU_FWD");
    kiln = KILN_WITH("KILN_CACHE_MAX_SIZE=1G", "cache", "prune");
    cr_assert(strstr(kiln.out, "removed    0 files"), "%s", kiln.out);
    kiln = KILN_WITH("KILN_CACHE_MAX_SIZE=2K", "cache", "prune");
    cr_assert(strstr(kiln.out, "removed    2 files, "), "both kernels: %s", kiln.out);
    cache_fixture_fill();
    kiln = KILN("cache", "prune", "--max-size", "20K", "--json");
    document = cache_fixture_json(&kiln, 0);
    cr_assert_geq(integer_member(document, "removed_files"), 1);
    cr_assert_leq(integer_member(document, "kept_bytes"), 20480);
    cr_assert_gt(integer_member(document, "kept_bytes"), 4096, "one kernel stays");
    json_decref(document);
}

Test(kiln_cache_pack, wrong_command_lines)
{
    static const struct {
        const char *arguments[6];
        const char *says;
    } cases[] = {
        {{"cache"}, "ACTION"},
        {{"cache", "exprt"}, "did you mean 'export'?"},
        {{"cache", "frobnicate"}, "import or merge"},
        {{"cache", "show"}, "'show' needs KEY"},
        {{"cache", "export"}, "'export' needs FILE"},
        {{"cache", "merge", "a"}, "'merge' needs OUT IN..."},
        {{"cache", "stats", "x"}, "unexpected argument 'x'"},
        {{"cache", "show", "1", "2"}, "unexpected argument '2'"},
        {{"cache", "ls", "--max-size", "1K"}, "option '--max-size' is not for 'ls'"},
        {{"cache", "prune", "--max-size", "1X"}, "'1X' is no size"},
        {{"cache", "prune", "--max-size", "0"}, "kiln cache clear"},
        {{"cache", "prune", "--older-than", "0"}, "takes a number from 1"},
        {{"cache", "prune", "--older-than", "-1"}, "takes a number from 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_process kiln = kiln_process_of(cases[i].arguments);
        cr_assert_eq(kiln.exit_code, 2, "%s: %s", cases[i].says, kiln.err);
        cr_assert(strstr(kiln.err, cases[i].says), "%s", kiln.err);
        cr_assert_str_eq(kiln.out, "");
    }
}

/* Compiled ahead for the bare name, packed, and used on a device that reports its features. */
Test(kiln_cache_pack, a_device_with_features_finds_what_was_compiled_ahead)
{
    struct kiln_process kiln = KILN("compile", "-t", "gfx90a", sample_path(gelu));
    if (kiln.exit_code != 0)
        skip_test("no compiler for AMD GPUs");
    kiln = KILN("cache", "export", temporary_path("ahead.pack"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    char layers[1200];
    (void)snprintf(layers, sizeof layers, "KILN_CACHE_LAYERS=%s", temporary_path("ahead.pack"));
    const char *const environment[] = {layers, "KILN_DEVICE=hip",
                                       "KILN_HIP_LIBRARY=" KILN_STAND_IN_LIBRARY, NULL};
    /* Without -t: for the device here, which reports "gfx90a:sramecc+:xnack-". */
    kiln = (struct kiln_process){
        .arguments = (const char *const[]){"compile", "--json", "--cache", temporary_path("empty"),
                                           sample_path(gelu), NULL},
        .environment = environment,
    };
    kiln_process_run(&kiln);
    json_t *document = cache_fixture_json(&kiln, 0);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_assert_str_eq(text_member(result, "target"), "gfx90a");
    cr_assert_str_eq(text_member(result, "outcome"), "disk");
    json_decref(document);
}
