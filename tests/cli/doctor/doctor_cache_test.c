/* The cache directory, layers and the shared tier. */
#include "tests/cli/doctor/doctor_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_up(void)
{
    static const char *const variables[] = {"HIPDNN_DISABLE_CACHE", "KILN_CACHE_LAYERS",
                                            "KILN_CACHE_MAX_SIZE", "KILN_CACHE_REMOTE"};
    cr_assert(temporary_directory_make());
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("KILN_CACHE_DIR", temporary_path("cache"), 1);
}

TestSuite(doctor_cache, .init = set_up, .fini = temporary_directory_remove, .timeout = 60);

static const json_t *look(void)
{
    return doctor_findings(kiln_doctor_check_cache_directory, NULL, NULL);
}

Test(doctor_cache, a_directory_is_written_to_and_left_as_it_was)
{
    doctor_expect(look(), "directory", KILN_DOCTOR_OK, "which the first kernel makes");
    cr_expect_neq(access(temporary_path("cache"), F_OK), 0);
    cr_expect_eq(directory_count(temporary_path("")), 0);
    cr_assert_eq(mkdir(temporary_path("cache"), 0700), 0);
    doctor_expect(look(), "directory", KILN_DOCTOR_OK, "which can be written to");
    doctor_expect(look(), "entries", KILN_DOCTOR_OK, "none yet");
    cr_expect_eq(directory_count(temporary_path("cache")), 0);
}

Test(doctor_cache, a_directory_that_cannot_be_used_is_wrong)
{
    setenv("KILN_CACHE_DIR", "/dev/null/cache", 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WRONG, "Not a directory");
    setenv("KILN_CACHE_DIR", "/proc/kiln/cache", 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WRONG, "cannot be made");
    setenv("KILN_CACHE_DIR", "/dev/full", 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WRONG, "Not a directory");
    cr_assert_eq(symlink("/tmp", temporary_path("link")), 0);
    setenv("KILN_CACHE_DIR", temporary_path("link"), 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WRONG, "symbolic link");
    cr_assert_eq(mkdir(temporary_path("open"), 0700), 0);
    cr_assert_eq(chmod(temporary_path("open"), 0777), 0);
    setenv("KILN_CACHE_DIR", temporary_path("open"), 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WRONG, "chmod go-w");
}

Test(doctor_cache, a_relative_directory_is_made_below_the_current_one)
{
    cr_assert_eq(chdir(temporary_path("")), 0);
    setenv("KILN_CACHE_DIR", "some/where", 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_OK, "which the first kernel makes");
    cr_expect_eq(directory_count("."), 0);
}

Test(doctor_cache, no_directory_and_a_small_limit_are_warnings)
{
    setenv("KILN_CACHE_DIR", "", 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WARNING, "memory only");
    setenv("KILN_CACHE_MAX_SIZE", "1M", 1);
    doctor_expect(look(), "limit", KILN_DOCTOR_WARNING, "1.0 MiB");
    setenv("HIPDNN_DISABLE_CACHE", "1", 1);
    doctor_expect(look(), "directory", KILN_DOCTOR_WARNING, "HIPDNN_DISABLE_CACHE");
}

/* Entries of another format are never read, whatever is in them. */
Test(doctor_cache, entries_that_this_build_cannot_use_are_counted)
{
    cr_assert_eq(mkdir(temporary_path("cache"), 0700), 0);
    cr_assert_eq(mkdir(temporary_path("cache/ab"), 0700), 0);
    FILE *file = fopen(temporary_path("cache/ab/ab345678901234567890123456789012.kiln2"), "w");
    cr_assert(file && fputs("old", file) >= 0 && fclose(file) == 0);
    cr_assert_eq(chmod(temporary_path("cache/ab/ab345678901234567890123456789012.kiln2"), 0600), 0);
    const json_t *findings = look();
    doctor_expect(findings, "entries", KILN_DOCTOR_WARNING, "1 that this build cannot use");
    doctor_expect(findings, "entries", KILN_DOCTOR_WARNING, "prune --stale");
}

static const json_t *look_at_layers(const char *layers)
{
    setenv("KILN_CACHE_LAYERS", layers, 1);
    return doctor_findings(kiln_doctor_check_cache_layers, NULL, NULL);
}

Test(doctor_cache, layers_that_cannot_be_used_are_wrong)
{
    char layers[4096];
    FILE *file = fopen(temporary_path("bad.pack"), "w");
    cr_assert(file && fputs("no pack", file) >= 0 && fclose(file) == 0);
    cr_assert_eq(mkdir(temporary_path("good"), 0700), 0);
    doctor_expect(look_at_layers(""), "layers", KILN_DOCTOR_SKIPPED, "names none");
    (void)snprintf(layers, sizeof layers, "%s:/no/such/layer:", temporary_path("bad.pack"));
    strcat(layers, temporary_path("good"));
    const json_t *findings = look_at_layers(layers);
    doctor_expect(findings, "layer", KILN_DOCTOR_WRONG, "bad.pack");
    doctor_expect(findings, "layer", KILN_DOCTOR_WRONG, "/no/such/layer");
    doctor_expect(findings, "layer", KILN_DOCTOR_OK, "good, a directory");
}

static const json_t *look_at_server(const char *url)
{
    setenv("KILN_CACHE_REMOTE", url, 1);
    return doctor_findings(kiln_doctor_check_shared_cache, NULL, NULL);
}

Test(doctor_cache, a_server_that_is_away_is_wrong)
{
    doctor_expect(look_at_server(""), "shared tier", KILN_DOCTOR_SKIPPED, "none");
    doctor_expect(look_at_server("redis://me:secret@127.0.0.1:1"), "shared tier", KILN_DOCTOR_WRONG,
                  "");
    char *text = json_dumps(look_at_server("redis://me:secret@127.0.0.1:1"), 0);
    cr_expect_null(strstr(text, "secret"));
    free(text);
    doctor_expect(look_at_server("nonsense"), "shared tier", KILN_DOCTOR_WRONG, "");
}
