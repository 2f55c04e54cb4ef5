/*
 * Wrong settings are found and told of; right ones are not.
 */
#include "runtime/engine/settings_check.h"

#include "runtime/support/environment.h"
#include "runtime/support/error.h"
#include "tests/runtime/support/captured_stderr.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    unsigned count;
    char variable[64];
    char sentence[KILN_ERROR_TEXT_BYTES];
} found;

static void note(void *context, const char *variable, const char *sentence)
{
    (void)context;
    found.count++;
    (void)snprintf(found.variable, sizeof found.variable, "%s", variable);
    (void)snprintf(found.sentence, sizeof found.sentence, "%s", sentence);
}

static void forget_settings(void)
{
    for (unsigned i = 0; i < KILN_ENVIRONMENT_COUNT; i++)
        unsetenv(kiln_environment_info((enum kiln_environment_variable)i)->name);
}

TestSuite(settings_check, .init = forget_settings);

struct setting_case {
    char name[32];
    char value[96];
    char sentence[128]; /* the beginning; "": nothing is wrong */
};

static const struct setting_case cases[] = {
    {"KILN_CACHE_DRI", "x",
     "KILN_CACHE_DRI is not a variable of Kiln; did you mean 'KILN_CACHE_DIR'?"},
    {"KILN_CACHE_LAYER", "",
     "KILN_CACHE_LAYER is not a variable of Kiln; did you mean 'KILN_CACHE_LAYERS'?"},
    {"KILN_DEVISE", "host", "KILN_DEVISE is not a variable of Kiln; did you mean 'KILN_DEVICE'?"},
    {"KILN_BRICKS", "another program's", ""},
    {"KILN_", "x", ""},
    {"KILN_DEVICE", "abacus", "KILN_DEVICE: device 'abacus' is not known"},
    {"KILN_DEVICE", "host,abacus", "KILN_DEVICE: device 'abacus' is not known"},
    {"KILN_DEVICE", "hip,host", ""},
    {"KILN_DEVICE", "", ""},
    {"KILN_COMPILE_WORKER", "/no/such/worker",
     "KILN_COMPILE_WORKER: there is no compile worker '/no/such/worker'"},
    {"KILN_COMPILE_WORKER", "/bin/sh", ""},
    {"KILN_CLANG", "/no/such/clang",
     "KILN_CLANG is '/no/such/clang': there is no clang 19 or newer"},
    {"KILN_HOST_CXX", "/no/such/c++",
     "KILN_HOST_CXX is '/no/such/c++': there is no '/no/such/c++'"},
    {"KILN_HOST_CXX", "sh", ""},
    {"KILN_COMGR_LIBRARY", "/no/such/comgr.so", "KILN_COMGR_LIBRARY is '/no/such/comgr.so': "},
    {"KILN_NVRTC_LIBRARY", "/no/such/nvrtc.so", "KILN_NVRTC_LIBRARY is '/no/such/nvrtc.so': "},
    {"KILN_HIP_LIBRARY", "/no/such/hip.so",
     "KILN_HIP_LIBRARY: there is no library '/no/such/hip.so'"},
    {"KILN_CUDA_LIBRARY", "libno-such-cuda.so",
     "KILN_CUDA_LIBRARY: there is no library 'libno-such-cuda.so'"},
    {"KILN_CAPTURE_DIR", "/dev/null",
     "KILN_CAPTURE_DIR: cannot write to '/dev/null': Not a directory"},
    {"KILN_CAPTURE_DIR", "/dev/null/graphs",
     "KILN_CAPTURE_DIR: cannot write to '/dev/null/graphs': Not a directory"},
    {"KILN_CAPTURE_DIR", "made/when/needed", ""},
    {"KILN_DUMP_DIR", "/dev/null", "KILN_DUMP_DIR: cannot write to '/dev/null': Not a directory"},
    {"KILN_LOG_LEVEL", "loud", "KILN_LOG_LEVEL: 'loud' is no log level"},
    {"KILN_LOG_LEVEL", "WARN", ""},
};

Test(settings_check, tells_what_is_wrong_with_each_variable)
{
    cr_assert_eq(chdir(temporary_directory_make()), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv(cases[i].name, cases[i].value, 1);
        found.count = 0;
        kiln_settings_check(note, NULL);
        size_t length = strlen(cases[i].sentence);
        cr_expect_eq(found.count, length != 0, "%s=%s: %u findings", cases[i].name, cases[i].value,
                     found.count);
        if (found.count != 0) {
            cr_expect_str_eq(found.variable, cases[i].name);
            cr_expect_eq(strncmp(found.sentence, cases[i].sentence, length), 0, "%s",
                         found.sentence);
        }
        unsetenv(cases[i].name);
    }
    temporary_directory_remove();
}

/* Names and values as long as the system allows. */
Test(settings_check, bears_any_environment)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "KILN_", 5);
    setenv(text, text, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        setenv(cases[i].name, text, 1);
    kiln_settings_check(note, NULL);
    cr_expect_gt(found.count, 10);
    cr_expect_lt(strlen(found.sentence), KILN_ERROR_TEXT_BYTES);
}

Test(settings_check, is_told_once)
{
    captured_stderr_start();
    setenv("KILN_DEVICE", "abacus", 1);
    kiln_settings_check_once();
    kiln_settings_check_once();
    cr_expect_str_eq(captured_stderr_text(), "kiln: KILN_DEVICE: device 'abacus' is not known; "
                                             "hint: known devices are hip, host, cuda\n");
}

/* Opening one would wait for a writer. */
Test(settings_check, a_named_pipe_is_no_library, .timeout = 30)
{
    static const char *const names[] = {"KILN_COMGR_LIBRARY", "KILN_NVRTC_LIBRARY",
                                        "KILN_HIP_LIBRARY", "KILN_CUDA_LIBRARY", "KILN_CLANG"};
    cr_assert(temporary_directory_make());
    cr_assert_eq(mkfifo(temporary_path("pipe"), 0600), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found.count = 0;
        setenv(names[i], temporary_path("pipe"), 1);
        kiln_settings_check(note, NULL);
        cr_expect_eq(found.count, 1, "%s", names[i]);
        unsetenv(names[i]);
    }
    temporary_directory_remove();
}

Test(settings_check, a_working_directory_may_be_gone)
{
    cr_assert_eq(chdir(temporary_directory_make()), 0);
    temporary_directory_remove();
    setenv("KILN_CAPTURE_DIR", "graphs", 1);
    kiln_settings_check(note, NULL);
    cr_expect_leq(found.count, 1);
    cr_expect_eq(chdir("/"), 0);
}
