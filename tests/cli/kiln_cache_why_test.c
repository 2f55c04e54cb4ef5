/*
 * kiln cache why and prune --stale; the builds that ls tells apart.
 */
#include "cache/cache_inventory.h"
#include "cache/cache_store.h"
#include "cache/cache_visit.h"
#include "tests/cli/cache_fixture.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(kiln_cache_why, .init = cache_fixture_set_up, .fini = temporary_directory_remove,
          .timeout = 120);

static const char gelu[] = "current/bias_gelu_fp16.json";
static const char relu[] = "current/residual_add_relu_fp32.json";

static struct kiln_cache_store *open_store(const char *directory)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    char path[4200];
    (void)snprintf(path, sizeof path, "%s", temporary_path(directory));
    const struct kiln_cache_options options = {
        .directory = path, .layers = "", .system_layer = "", .remote = ""};
    kiln_error_init(&error);
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    return store;
}

/* Copies the entries of "cache" as another maker's into a directory. */
struct copy {
    struct kiln_cache_store *to;
    struct kiln_cache_maker maker;
    bool changes_digest; /* those of programs: of other templates */
};

static bool is_hex(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr("0123456789abcdef", text[i]) || !text[i])
            return false;
    return true;
}

static enum kiln_status copy_entry(void *context, const struct kiln_cache_visited *entry,
                                   struct kiln_error *error)
{
    const struct copy *copy = context;
    struct kiln_cache_key key;
    cr_assert_eq(entry->status, KILN_OK);
    kiln_cache_key_init(&key);
    kiln_buffer_append(&key.bytes, entry->view.key, entry->view.key_bytes);
    bool has_changed = false;
    for (size_t i = 0; copy->changes_digest && i + 64 <= key.bytes.size && !has_changed; i++) {
        if (is_hex(key.bytes.data + i, 64)) {
            key.bytes.data[i] = key.bytes.data[i] == '0' ? '1' : '0';
            has_changed = true;
        }
    }
    cr_assert_eq(kiln_cache_key_finish(&key, error), KILN_OK);
    if (has_changed || !copy->changes_digest)
        cr_assert_eq(kiln_cache_store_insert(copy->to, &key, &copy->maker, entry->view.payload,
                                             entry->view.payload_bytes, error),
                     KILN_OK, "%s", error->text);
    kiln_cache_key_fini(&key);
    return KILN_OK;
}

static void copy_entries(const char *to, struct kiln_cache_maker maker, bool changes_digest)
{
    struct kiln_error error;
    struct kiln_cache_store *from = open_store("cache");
    struct copy copy = {open_store(to), maker, changes_digest};
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_cache_store_visit(from, KILN_CACHE_SOURCE_DIRECTORY, copy_entry, &copy, &error),
        KILN_OK, "%s", error.text);
    kiln_cache_store_close(copy.to);
    kiln_cache_store_close(from);
}

static json_t *ask(const char *cache, const char *graph, const char *target)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s", temporary_path(cache));
    struct kiln_process kiln =
        KILN("cache", "why", "--json", "--cache", path, "--target", target, graph);
    return cache_fixture_json(&kiln, 0);
}

static void expect_answer(const char *cache, const char *graph, const char *target,
                          const char *answer)
{
    json_t *document = ask(cache, graph, target);
    cr_assert_str_eq(text_member(document, "answer"), answer);
    json_decref(document);
}

/* The nearest entry differs in this field alone; its sentence has `part`. */
static void expect_near(const char *cache, const char *graph, const char *target, const char *field,
                        const char *part)
{
    json_t *document = ask(cache, graph, target);
    cr_assert_str_eq(text_member(document, "answer"), "miss");
    const json_t *near = json_array_get(json_object_get(document, "near"), 0);
    cr_assert(near);
    const json_t *fields = json_object_get(near, "differing_fields");
    cr_assert_eq(json_array_size(fields), 1);
    cr_assert_str_eq(json_string_value(json_array_get(fields, 0)), field);
    cr_assert(strstr(text_member(near, "difference"), part), "%s", text_member(near, "difference"));
    json_decref(document);
}

/* A copy of a sample with one text replaced everywhere. */
static const char *edited_sample(const char *from, const char *to)
{
    FILE *file = fopen(sample_path(gelu), "r");
    char text[8192] = "";
    char edited[8192] = "";
    cr_assert(file);
    cr_assert_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    const char *at = text;
    for (const char *next; (next = strstr(at, from)); at = next + strlen(from)) {
        strncat(edited, at, (size_t)(next - at));
        strcat(edited, to);
    }
    strcat(edited, at);
    return write_file("edited.json", edited, strlen(edited));
}

Test(kiln_cache_why, names_the_field_that_differs)
{
    expect_answer(".", sample_path(gelu), "host", "miss");
    struct kiln_process kiln = KILN("cache", "why", "-t", "host", sample_path(gelu));
    cr_assert(strstr(kiln.out, "there are no programs"), "%s%s", kiln.out, kiln.err);
    cache_fixture_fill();
    expect_answer("cache", sample_path(gelu), "host", "hit");
    expect_near("cache", sample_path(gelu), "gfx90a", "target", "and not gfx90a");
    expect_near("cache", edited_sample("[64, 1024]", "[32, 1024]"), "host", "graph",
                "%0 there: input half [64,1024] strides [1024,1] align 16, here: input half "
                "[32,1024]");
    expect_near("cache", edited_sample("GELU_FWD", "GELU_APPROX_TANH_FWD"), "host", "graph",
                "%3 there: GELU_FWD(%2) in float, here: GELU_APPROX_TANH_FWD(%2) in float");
}

Test(kiln_cache_why, names_kernels_that_are_missing_and_damage)
{
    cache_fixture_fill();
    json_t *document = ask("cache", sample_path(gelu), "host");
    char program[64];
    (void)snprintf(program, sizeof program, "%s", text_member(document, "key"));
    json_decref(document);
    struct kiln_process kiln = KILN("cache", "show", "--json", program);
    document = cache_fixture_json(&kiln, 0);
    const json_t *kernels = json_object_get(json_object_get(document, "program"), "kernels");
    const char *kernel = text_member(json_array_get(kernels, 0), "key");
    cr_assert_eq(unlink(cache_fixture_entry("cache", kernel)), 0);
    kiln = KILN("cache", "why", "-t", "host", sample_path(gelu));
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "kernels that it names are not"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, kernel), "%s", kiln.out);
    json_decref(document);
    expect_answer("cache", sample_path(gelu), "host", "kernels missing");
    kiln = KILN("compile", "-v", "-t", "host", sample_path(gelu));
    cr_assert(strstr(kiln.err, "and 1 of its 1 kernel is in no cache"), "%s", kiln.err);

    cache_fixture_flip_byte(cache_fixture_entry("cache", program), 100);
    kiln = KILN("cache", "why", "-t", "host", sample_path(gelu));
    cr_assert(strstr(kiln.out, "the entry is damaged"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "damage     "), "%s", kiln.out);
}

Test(kiln_cache_why, names_other_compilers_and_builds)
{
    const struct kiln_cache_maker other_compiler = {"host other", "0.0.9+0123456789ab"};
    const struct kiln_cache_maker other_build = {NULL, "0.0.9+0123456789ab"};
    cache_fixture_fill();
    copy_entries("other", other_compiler, false);
    expect_answer("other", sample_path(gelu), "host", "other compiler");
    struct kiln_process kiln =
        KILN_WITH("KILN_CACHE_ACCEPT=same-compiler", "cache", "why", "--cache",
                  temporary_path("other"), "-t", "host", sample_path(gelu));
    cr_assert(strstr(kiln.out, "another compiler has made the program"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "made by compiler 'host other'"), "%s", kiln.out);
    copy_entries("old", other_build, true);
    expect_near("old", sample_path(gelu), "host", "templates", "0.0.9+0123456789ab");

    /* ls marks what this build cannot use, and prune removes just that. */
    copy_entries("cache", other_build, true);
    kiln = KILN("cache", "ls");
    cr_assert(strstr(kiln.out, "0123456789ab*"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "  this  "), "%s", kiln.out);
    kiln = KILN("cache", "prune", "--stale", "--dry-run");
    cr_assert(strstr(kiln.out, "stale      2 programs, 0 kernels"), "%s%s", kiln.out, kiln.err);
    kiln = KILN("cache", "prune", "--stale", "--json");
    json_t *document = cache_fixture_json(&kiln, 0);
    cr_assert_eq(integer_member(document, "stale_programs"), 2);
    cr_assert_eq(integer_member(document, "removed_files"), 2);
    cr_assert_eq(integer_member(document, "kept_files"), 4);
    json_decref(document);
    expect_answer("cache", sample_path(gelu), "host", "hit");
    expect_answer("cache", sample_path(relu), "host", "hit");
}

/* The file of a kernel in "cache" that this compiler has made. */
static const char *entry_of(const char *kernel, const char *compiler)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%s-%016" PRIx64, kernel, kiln_cache_compiler_mark(compiler));
    return cache_fixture_entry("cache", name);
}

Test(kiln_cache_why, tells_entries_of_one_name_apart)
{
    const struct kiln_cache_maker other = {"host other", NULL};
    char kernel[64];
    char ours[1024];
    cache_fixture_fill();
    copy_entries("cache", other, false);
    json_t *document = ask("cache", sample_path(gelu), "host");
    (void)snprintf(ours, sizeof ours, "%s", text_member(document, "compiler"));
    struct kiln_process kiln = KILN("cache", "show", "--json", text_member(document, "key"));
    json_t *shown = cache_fixture_json(&kiln, 0);
    const json_t *kernels = json_object_get(json_object_get(shown, "program"), "kernels");
    (void)snprintf(kernel, sizeof kernel, "%s", text_member(json_array_get(kernels, 0), "key"));
    json_decref(shown);
    json_decref(document);

    /* A damaged one of them makes no kernel missing. */
    const char *const compilers[] = {ours, other.compiler};
    for (int i = 0; i < 2; i++) {
        cache_fixture_flip_byte(entry_of(kernel, compilers[i]), 100);
        kiln = KILN("cache", "ls");
        cr_expect(strstr(kiln.out, "damaged"), "%s", kiln.out);
        cr_expect_not(strstr(kiln.out, "to compile"), "%s", kiln.out);
        cache_fixture_flip_byte(entry_of(kernel, compilers[i]), 100);
    }

    /* Another compiler's kernel is used if nothing compiles. */
    cr_assert_eq(unlink(entry_of(kernel, ours)), 0);
    expect_answer("cache", sample_path(gelu), "host", "kernels missing");
    const char *const why[] = {"cache", "why", "--json", "-t", "host", sample_path(gelu), NULL};
    kiln = cache_fixture_run("KILN_ENFORCE_PRECOMPILED=1", why);
    document = cache_fixture_json(&kiln, 0);
    cr_expect_str_eq(text_member(document, "answer"), "hit");
    json_decref(document);
    kiln = KILN_WITH("KILN_COMPILE_WORKER=/nonexistent/worker", "cache", "why", "-t", "host",
                     edited_sample("[64, 1024]", "[32, 1024]"));
    cr_expect(strstr(kiln.out, "is in no cache"), "%s%s", kiln.out, kiln.err);
    cr_expect(strstr(kiln.out, "the graph is declined"), "%s", kiln.out);
}

Test(kiln_cache_why, the_log_of_compile_has_the_reason)
{
    cache_fixture_fill();
    struct kiln_process kiln =
        KILN("compile", "-v", "-t", "host", edited_sample("[64, 1024]", "[32, 1024]"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "no cache has graph '"), "%s", kiln.err);
    cr_assert(strstr(kiln.err, "a similar graph, %0 there"), "%s", kiln.err);
    kiln = KILN("compile", "-v", "-t", "host", sample_path(gelu));
    cr_assert_not(strstr(kiln.err, "no cache has graph"), "%s", kiln.err);
}

Test(kiln_cache_why, bad_input)
{
    struct kiln_process kiln = KILN("cache", "why", temporary_path("missing.json"));
    cr_assert_neq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.err, "missing.json"), "%s", kiln.err);
    kiln = KILN("cache", "why");
    cr_assert_eq(kiln.exit_code, 2);
    kiln = KILN("cache", "why", "-t", "gfx90b", sample_path(gelu));
    cr_assert_eq(kiln.exit_code, 2, "%s", kiln.err);
    kiln = KILN("cache", "why", "-t", "MI300X,RX7900XTX", sample_path(gelu));
    cr_assert_eq(kiln.exit_code, 2, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "takes one target, not the list 'MI300X,RX7900XTX'"), "%s",
              kiln.err);
    kiln = KILN("cache", "prune", "--dry-run");
    cr_assert_eq(kiln.exit_code, 2);
    cr_assert(strstr(kiln.err, "--stale"), "%s", kiln.err);
    kiln = KILN("cache", "ls", "--stale");
    cr_assert_eq(kiln.exit_code, 2);
}
