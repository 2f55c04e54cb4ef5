/* The plugin where hipDNN looks, and what hipDNN would say of it. */
#include "plugin_api/engine_identity.h"
#include "tests/cli/doctor/doctor_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char backend[1024]; /* where hipDNN's library is said to be */

static void make_directory(const char *name)
{
    cr_assert_eq(mkdir(temporary_path(name), 0700), 0);
}

static void make_file(const char *name, const char *text)
{
    FILE *file = fopen(temporary_path(name), "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void copy_file(const char *from, const char *name)
{
    char command[3000];
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", from, temporary_path(name));
    cr_assert_eq(system(command), 0);
}

static void set_up(void)
{
    cr_assert(temporary_directory_make());
    unsetenv("HIPDNN_PLUGIN_DIR");
    (void)snprintf(backend, sizeof backend, "%s", temporary_path("lib"));
    make_directory("lib");
    make_directory("lib/hipdnn_plugins");
    make_directory("lib/hipdnn_plugins/engines");
}

TestSuite(doctor_plugin, .init = set_up, .fini = temporary_directory_remove, .timeout = 60);

#define ENGINES "lib/hipdnn_plugins/engines/"

static const json_t *look(void)
{
    return doctor_findings(kiln_doctor_check_plugin_directory, KILN_DOCTOR_BACKEND_DIRECTORY,
                           backend);
}

Test(doctor_plugin, the_default_set_is_next_to_the_library)
{
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "there is no plugin at all");
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "install Kiln, and copy its");
    make_file(ENGINES "miopen_plugin.so", "");
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "the plugins there are others");
    cr_expect_null(doctor_fact(KILN_DOCTOR_PLUGIN));
    make_file(ENGINES "kiln_plugin.so", "");
    doctor_expect(look(), "location", KILN_DOCTOR_OK, "in hipDNN's default set");
    cr_expect(strstr(doctor_fact(KILN_DOCTOR_PLUGIN), ENGINES "kiln_plugin.so"));
    make_file(ENGINES "libkiln.so", "");
    doctor_expect(look(), "location", KILN_DOCTOR_WARNING, "2 plugins of Kiln");
}

/* As many ROCm as somebody has installed, and no link that says which is meant. */
Test(doctor_plugin, hipdnn_is_found_in_the_newest_rocm)
{
    static const char *const names[] = {"rocm-7.9.0",        "rocm-7.9.0/lib", "rocm-7.10.0",
                                        "rocm-7.10.0/lib64", "rocm-7.11.0",    "rocm-7.11.0/lib",
                                        "rocmisc",           "rocmisc/lib"};
    char reason[1024] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make_directory(names[i]);
    char *parent = strdup(temporary_path(""));
    cr_expect_null(kiln_doctor_find_in_rocm_versions(parent, reason));
    cr_expect_str_empty(reason);
    cr_expect_null(kiln_doctor_find_in_rocm_versions("/dev/null", reason));
    make_file("rocm-7.11.0/lib/libhipdnn_backend.so", "no library");
    cr_expect_null(kiln_doctor_find_in_rocm_versions(parent, reason));
    cr_expect_not_null(strstr(reason, "rocm-7.11.0"), "%s", reason);
    copy_file(KILN_FAKE_HIPDNN, "rocm-7.9.0/lib/libhipdnn_backend.so");
    copy_file(KILN_FAKE_HIPDNN, "rocm-7.10.0/lib64/libhipdnn_backend.so");
    char *path = kiln_doctor_find_in_rocm_versions(parent, reason);
    cr_expect(path && strstr(path, "/rocm-7.10.0/lib64/libhipdnn_backend.so"), "%s", path);
    free(path);
    free(parent);
}

/* hipDNN resolves links first, and looks at names then. */
Test(doctor_plugin, files_that_hipdnn_does_not_take_are_explained)
{
    make_file("kiln_plugin.so.1", "");
    cr_assert_eq(
        symlink(temporary_path("kiln_plugin.so.1"), temporary_path(ENGINES "kiln_plugin.so")), 0);
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "is 'kiln_plugin.so.1', and hipDNN");
    cr_assert_eq(unlink(temporary_path(ENGINES "kiln_plugin.so")), 0);
    cr_assert_eq(symlink("kiln_plugin.so", temporary_path(ENGINES "kiln_plugin.so")), 0);
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "leads nowhere");
    cr_assert_eq(unlink(temporary_path(ENGINES "kiln_plugin.so")), 0);
    make_directory(ENGINES "kiln");
    make_file(ENGINES "kiln/kiln_plugin.so", "");
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "in a directory below");
}

Test(doctor_plugin, the_variable_replaces_the_default_set)
{
    make_file(ENGINES "kiln_plugin.so", "");
    make_file(ENGINES "miopen_plugin.so", "");
    make_directory("mine");
    setenv("HIPDNN_PLUGIN_DIR", temporary_path("mine"), 1);
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "or unset HIPDNN_PLUGIN_DIR");
    make_file("mine/kiln_plugin.so", "");
    doctor_expect(look(), "location", KILN_DOCTOR_OK, "which HIPDNN_PLUGIN_DIR names");
    doctor_expect(look(), "location", KILN_DOCTOR_WARNING, "1 plugin in");
    /* It counts from the library, not from the current directory; a file will do. */
    setenv("HIPDNN_PLUGIN_DIR", "../mine/kiln_plugin.so", 1);
    doctor_expect(look(), "location", KILN_DOCTOR_OK, "mine/kiln_plugin.so");
    make_file("mine/libkiln.so", "");
    setenv("HIPDNN_PLUGIN_DIR", "../mine/kiln", 1);
    doctor_expect(look(), "location", KILN_DOCTOR_OK, "mine/libkiln.so");
    setenv("HIPDNN_PLUGIN_DIR", "nowhere", 1);
    doctor_expect(look(), "location", KILN_DOCTOR_WRONG, "No such file");
    doctor_expect(doctor_findings(kiln_doctor_check_plugin_directory, NULL, NULL), "location",
                  KILN_DOCTOR_WARNING, "absolute path");
}

static const json_t *load(const char *path)
{
    return doctor_findings(kiln_doctor_check_plugin_abi, KILN_DOCTOR_PLUGIN, path);
}

Test(doctor_plugin, what_hipdnn_refuses_is_wrong)
{
    make_file("kiln_plugin.so", "no library");
    doctor_expect(load(temporary_path("kiln_plugin.so")), "plugin", KILN_DOCTOR_WRONG,
                  "cannot be loaded");
    doctor_expect(load(KILN_NO_PLUGIN), "plugin", KILN_DOCTOR_WRONG,
                  "no function 'hipdnnPluginGetName'");
    doctor_expect(load(KILN_BROKEN_PLUGIN), "plugin", KILN_DOCTOR_WRONG, "no engine plugin");
    doctor_expect(doctor_findings(kiln_doctor_check_plugin_abi, NULL, NULL), "plugin",
                  KILN_DOCTOR_SKIPPED, "none to load");
}

Test(doctor_plugin, a_good_one_tells_its_engine)
{
    char id[32];
    (void)snprintf(id, sizeof id, "id %lld", (long long)kiln_engine_id());
    const json_t *findings = load(KILN_FAKE_PLUGIN);
    doctor_expect(findings, "engine", KILN_DOCTOR_OK, KILN_ENGINE_NAME);
    doctor_expect(findings, "engine", KILN_DOCTOR_OK, id);
    doctor_expect(findings, "plugin", KILN_DOCTOR_OK, "API 1.");
}

Test(doctor_plugin, its_answer_is_told)
{
    setenv("KILN_DEVICE", "hip", 1);
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_HIP_LIBRARY", "/no/such/library.so", 1);
    const json_t *findings =
        doctor_findings(kiln_doctor_check_answer, KILN_DOCTOR_PLUGIN, KILN_FAKE_PLUGIN);
    doctor_expect(findings, "plugin", KILN_DOCTOR_WARNING, "declines a simple graph");
    findings = doctor_findings(kiln_doctor_check_answer, KILN_DOCTOR_PLUGIN, KILN_BROKEN_PLUGIN);
    doctor_expect(findings, "plugin", KILN_DOCTOR_WRONG, "gives no handle");
}

Test(doctor_plugin, that_it_may_not_compile_the_graph_is_no_fault)
{
    setenv("KILN_DEVICE", "host", 1);
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_CACHE_LAYERS", "", 1);
    setenv("KILN_ENFORCE_PRECOMPILED", "1", 1);
    const json_t *findings =
        doctor_findings(kiln_doctor_check_answer, KILN_DOCTOR_PLUGIN, KILN_FAKE_PLUGIN);
    doctor_expect(findings, "plugin", KILN_DOCTOR_OK, "declines a graph that no cache has");
}

/* hipDNN's library and Kiln's plugin are known. */
static void load_with_facts(struct kiln_doctor *doctor)
{
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_PLUGIN, temporary_path("kiln_plugin.so"));
    kiln_doctor_check_loading(doctor);
}

static const json_t *ask_hipdnn(const char *library)
{
    return doctor_findings(load_with_facts, library ? KILN_DOCTOR_BACKEND : NULL, library);
}

Test(doctor_plugin, hipdnn_tells_what_it_has_loaded)
{
    make_file("kiln_plugin.so", "");
    make_file("other.so", "");
    doctor_expect(ask_hipdnn(NULL), "loading", KILN_DOCTOR_SKIPPED, "no hipDNN");
    doctor_expect(ask_hipdnn(KILN_NO_PLUGIN), "loading", KILN_DOCTOR_SKIPPED, "does not tell");
    doctor_expect(ask_hipdnn(KILN_FAKE_HIPDNN), "loading", KILN_DOCTOR_WRONG, "loaded 0 plugins");
    setenv("FAKE_HIPDNN_PLUGIN", temporary_path("other.so"), 1);
    doctor_expect(ask_hipdnn(KILN_FAKE_HIPDNN), "loading", KILN_DOCTOR_WRONG, "loaded 1 plugin,");
    setenv("FAKE_HIPDNN_PLUGIN", temporary_path("lib/../kiln_plugin.so"), 1);
    doctor_expect(ask_hipdnn(KILN_FAKE_HIPDNN), "loading", KILN_DOCTOR_OK, "hipDNN 9.8.7 loads it");
    setenv("FAKE_HIPDNN_STATUS", "5", 1);
    doctor_expect(ask_hipdnn(KILN_FAKE_HIPDNN), "loading", KILN_DOCTOR_WARNING, "status 5");
}
