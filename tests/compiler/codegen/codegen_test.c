#include "compiler/codegen/codegen.h"

#include "compiler/codegen/isa_text.h"
#include "sample_kernel.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/without_proc.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t count_lines(const char *path, const char *word)
{
    char line[4096];
    size_t count = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        count += strstr(line, word) != NULL;
    if (file != NULL)
        (void)fclose(file);
    return count;
}

static struct kiln_code_object compile(struct kiln_codegen *codegen,
                                       const struct kiln_target *target)
{
    struct kiln_kernel kernel = sample_kernel(target);
    struct kiln_code_object object;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_compile(codegen, target, &kernel, &object, &error), KILN_OK, "%s",
                 error.text);
    return object;
}

static const char *const targets[] = {"gfx90a",  "gfx1010", "gfx1030", "gfx942",
                                      "gfx1100", "gfx1201", "gfx950",  "gfx1250"};

ParameterizedTestParameters(codegen, compiles_for)
{
    static size_t indices[sizeof targets / sizeof *targets];
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, sizeof indices / sizeof *indices);
}

ParameterizedTest(size_t *index, codegen, compiles_for)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target(targets[*index]);
    sample_require(codegen, &target);
    struct kiln_code_object object = compile(codegen, &target);
    cr_expect_eq(object.resources.kernarg_bytes, 24);
    cr_expect_eq(object.resources.lds_bytes, 0);
    cr_expect_eq(object.resources.scratch_bytes, 0);
    cr_expect_eq(object.resources.wave_size, target.wave_size);
    cr_expect_gt(object.resources.vgprs, 0);
    cr_expect_gt(object.resources.sgprs, 0);

    struct kiln_code_object again = compile(codegen, &target);
    cr_expect_eq(again.size, object.size);
    cr_expect_eq(memcmp(again.bytes, object.bytes, object.size), 0, "not deterministic");
    struct kiln_codegen *other = sample_codegen(NULL, 60);
    struct kiln_code_object third = compile(other, &target);
    cr_expect_eq(third.size, object.size);
    cr_expect_eq(memcmp(third.bytes, object.bytes, object.size), 0, "depends on the process");

    struct kiln_buffer text;
    struct kiln_error error;
    kiln_buffer_init(&text);
    kiln_error_init(&error);
    enum kiln_status status = kiln_code_object_disassemble(codegen, &target, "sample", object.bytes,
                                                           object.size, &text, &error);
    if (status != KILN_UNSUPPORTED) {
        cr_expect_eq(status, KILN_OK, "%s", error.text);
        const char *text_of = kiln_buffer_text(&text);
        cr_expect(strstr(text_of, "s_endpgm") != NULL, "%s", text_of);
        cr_expect(strstr(text_of, "global_store_dword") != NULL ||
                      strstr(text_of, "global_store_b32") != NULL,
                  "%s", text_of);
        cr_expect_null(strstr(text_of, "//"), "comments left: %s", text_of);
        const char *end = strstr(text_of, "s_endpgm");
        for (const char *next = end; next != NULL; next = strstr(next + 1, "s_endpgm"))
            end = next;
        cr_expect(end != NULL && strcmp(end, "s_endpgm\n") == 0, "padding behind it: %s", end);
    }
    kiln_buffer_fini(&text);
    kiln_code_object_fini(&object);
    kiln_code_object_fini(&again);
    kiln_code_object_fini(&third);
    kiln_codegen_unref(other);
    kiln_codegen_unref(codegen);
}

Test(codegen, host_code_runs)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("host");
    struct kiln_code_object object = compile(codegen, &target);
    int file = memfd_create("sample", 0);
    cr_assert_eq(write(file, object.bytes, object.size), (ssize_t)object.size);
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    void *symbol = dlsym(library, "sample");
    cr_assert_not_null(symbol);
    void (*sample)(const float *, float *, unsigned long);
    memcpy(&sample, &symbol, sizeof sample);
    float in[100];
    float out[101] = {0};
    for (int i = 0; i < 100; i++)
        in[i] = (float)i;
    sample(in, out, 100);
    for (int i = 0; i < 100; i++)
        cr_expect_eq(out[i], (float)(2 * i + 1));
    cr_expect_eq(out[100], 0);
    (void)dlclose(library);
    (void)close(file);
    kiln_code_object_fini(&object);
    kiln_codegen_unref(codegen);
}

Test(codegen, identity_starts_nothing)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("host");
    struct kiln_codegen_counters counters;
    struct kiln_error error;
    const char *identity;
    const char *again;
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_identity(codegen, &target, &identity, &error), KILN_OK, "%s",
                 error.text);
    cr_expect_eq(strncmp(identity, "host ", 5), 0, "%s", identity);
    cr_expect_null(strchr(identity, '/'), "a path in %s", identity);
    cr_expect_eq(kiln_codegen_identity(codegen, &target, &again, &error), KILN_OK);
    cr_expect_eq(identity, again);
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 0);
    cr_expect_eq(count_lines("/proc/self/maps", "LLVM"), 0);
    cr_expect_eq(count_lines("/proc/self/maps", "comgr"), 0);
    kiln_codegen_unref(codegen);
}

Test(codegen, compilers_are_named)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("host");
    char name[KILN_COMPILER_NAME_BYTES];
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_eq(kiln_codegen_compiler(codegen, &target, name, &error), KILN_OK, "%s", error.text);
    cr_expect_str_eq(name, "host");
    for (size_t i = 0; i < kiln_target_count(); i++) {
        kiln_target_at(i, &target);
        enum kiln_status status = kiln_codegen_compiler(codegen, &target, name, &error);
        cr_expect(status == KILN_OK || status == KILN_UNSUPPORTED, "%s: %s", target.name,
                  error.text);
        if (status == KILN_UNSUPPORTED)
            cr_expect(strstr(error.text, "hint: ") != NULL, "%s", error.text);
    }
    kiln_codegen_unref(codegen);
}

Test(codegen, no_compiler_at_all)
{
    cr_assert_eq(setenv("KILN_COMGR_LIBRARY", "/nonexistent", 1), 0);
    cr_assert_eq(setenv("KILN_CLANG", "/nonexistent", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("gfx90a");
    struct kiln_error error;
    const char *identity;
    kiln_error_init(&error);
    cr_expect_eq(kiln_codegen_identity(codegen, &target, &identity, &error), KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "no compiler here serves target 'gfx90a': there is no "
                                 "'/nonexistent' here; ") != NULL,
              "%s", error.text);
    cr_expect(strstr(error.text, "hint: install libamd-comgr-dev") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
}

static void expect_compile_error(const char *target_text, const char *line_text)
{
    char directory[] = "/tmp/kiln-test-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("KILN_DUMP_DIR", directory, 1), 0);
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target(target_text);
    sample_require(codegen, &target);
    struct kiln_kernel kernel = sample_kernel(&target);
    char source[4096];
    (void)snprintf(source, sizeof source, "%s", kernel.source);
    memcpy(strstr(source, "a[i]"), "oops", 4);
    kernel = sample_kernel_with(source);

    char dumped[512] = "";
    for (int round = 0; round < 2; round++) {
        struct kiln_code_object object;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(kiln_codegen_compile(codegen, &target, &kernel, &object, &error),
                     KILN_COMPILE_FAILED);
        cr_expect(strstr(error.text, "refused kernel 'sample'") != NULL, "%s", error.text);
        cr_expect(strstr(error.text, line_text) != NULL, "'%s' expected: %s", line_text,
                  error.text);
        cr_expect(strstr(error.text, "\nlog:\n") != NULL, "%s", error.text);
        cr_expect(strstr(error.text, "the source is in") == NULL, "%s", error.text);
        if (round == 0) {
            cr_expect_eq(rmdir(directory), 0, "dumped before anybody gave up");
            cr_assert_eq(mkdir(directory, 0700), 0);
        }
        kiln_codegen_dump_source(&kernel, &error);
        const char *hint = strstr(error.text, "hint: the source is in '");
        cr_assert_not_null(hint, "%s", error.text);
        char path[512];
        cr_assert_eq(sscanf(hint, "hint: the source is in '%511[^']'", path), 1);
        cr_expect(round == 0 || strcmp(path, dumped) == 0, "a second file '%s'", path);
        (void)snprintf(dumped, sizeof dumped, "%s", path);
    }
    struct stat attributes;
    cr_assert_eq(stat(dumped, &attributes), 0, "%s", dumped);
    cr_expect_eq(attributes.st_mode & 0777, 0600);
    cr_expect_eq((size_t)attributes.st_size, strlen(source));
    (void)unlink(dumped);
    cr_expect_eq(rmdir(directory), 0, "something else was left in '%s'", directory);

    /* The same worker goes on. */
    struct kiln_codegen_counters counters;
    struct kiln_code_object object = compile(codegen, &target);
    kiln_code_object_fini(&object);
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 1);
    cr_expect_eq(counters.kernels_compiled, 1);
    kiln_codegen_unref(codegen);
}

Test(codegen, errors_quote_the_line_comgr)
{
    expect_compile_error("gfx90a", "in line 6: 'b[i] = oops * 2.0f + 1.0f;'");
}

Test(codegen, errors_quote_the_line_clang)
{
    expect_compile_error("gfx1201", "in line 6: 'b[i] = oops * 2.0f + 1.0f;'");
}

Test(codegen, errors_quote_the_line_host)
{
    expect_compile_error("host", "in line 5: 'b[i] = oops * 2.0f + 1.0f;'");
}

/* clang recurses with the nesting: this took down a process with an ordinary stack. */
Test(codegen, deep_nesting_is_survived)
{
    enum { DEPTH = 20000 };
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("gfx90a");
    sample_require(codegen, &target);
    char *source = malloc(2 * DEPTH + 1000);
    char *at = source + sprintf(source, "extern \"C\" __attribute__((global)) void sample(const "
                                        "float *a, float *b, unsigned long n)\n{\n    *b = ");
    memset(at, '(', DEPTH);
    at += DEPTH;
    *at++ = '1';
    memset(at, ')', DEPTH);
    (void)strcpy(at + DEPTH, ";\n}\n");
    struct kiln_kernel kernel = sample_kernel_with(source);
    struct kiln_code_object object;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_codegen_compile(codegen, &target, &kernel, &object, &error);
    cr_expect_eq(status, KILN_COMPILE_FAILED, "%s", error.text);
    object = compile(codegen, &target);
    kiln_code_object_fini(&object);
    kiln_codegen_unref(codegen);
    free(source);
}

Test(codegen, in_process)
{
    cr_assert_eq(setenv("KILN_COMPILE_IN_PROCESS", "1", 1), 0);
    struct kiln_codegen *codegen = sample_codegen("/nonexistent", 60);
    struct kiln_target target = sample_target("host");
    struct kiln_code_object object = compile(codegen, &target);
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 0);
    cr_expect_eq(counters.kernels_compiled, 1);
    kiln_code_object_fini(&object);
    kiln_codegen_unref(codegen);
}

enum { THREADS = 6, JOBS = 4 };

static void *compile_in_process(void *context)
{
    struct kiln_target target = sample_target("gfx90a");
    struct kiln_code_object object = compile(context, &target);
    kiln_code_object_fini(&object);
    return NULL;
}

/* The first compilations of a process, all at once: comgr 2.4 crashes one time in ten if it is let.
 */
Test(codegen, threads_take_turns_in_process)
{
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("LLVM does not run in a process with this sanitizer");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    cr_skip_test("LLVM does not run in a process with this sanitizer");
#endif
#endif
    struct kiln_target target = sample_target("gfx90a");
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    sample_require(codegen, &target);
    kiln_codegen_unref(codegen);
    cr_assert_eq(setenv("KILN_COMPILE_IN_PROCESS", "1", 1), 0);
    codegen = sample_codegen("/nonexistent", 60);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, compile_in_process, codegen), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    kiln_codegen_unref(codegen);
}

static void *compile_several(void *context)
{
    struct kiln_codegen *codegen = context;
    struct kiln_target target = sample_target("host");
    for (int i = 0; i < JOBS; i++) {
        struct kiln_code_object object = compile(codegen, &target);
        kiln_code_object_fini(&object);
    }
    return NULL;
}

Test(codegen, threads_share_two_workers_and_leave_nothing)
{
    char directory[] = "/tmp/kiln-test-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("TMPDIR", directory, 1), 0);
    /* A descriptor that is not closed on exec must not reach the workers. */
    int leaky = open("/dev/null", O_RDONLY);
    int descriptors = directory_count("/proc/self/fd");
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, compile_several, codegen), 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(codegen, &counters);
    cr_expect_leq(counters.workers_started, 2);
    cr_expect_geq(counters.workers_started, 1);
    cr_expect_eq(counters.kernels_compiled, THREADS * JOBS);
    kiln_codegen_unref(codegen);
    cr_expect_eq(directory_count("/proc/self/fd"), descriptors);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
    cr_expect_eq(errno, ECHILD);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
    (void)close(leaky);
}

/* As ccache is installed: one program behind links that are called like compilers. */
Test(codegen, compilers_behind_one_program_have_their_own_identities)
{
    static const char *const names[] = {"g++", "clang++"};
    char directory[] = "/tmp/kiln-test-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    struct kiln_target target = sample_target("host");
    char identities[2][512];
    for (int i = 0; i < 2; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        cr_assert_eq(symlink("/bin/sh", path), 0);
        cr_assert_eq(setenv("KILN_HOST_CXX", path, 1), 0);
        struct kiln_codegen *codegen = sample_codegen(NULL, 5);
        const char *identity = NULL;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(kiln_codegen_identity(codegen, &target, &identity, &error), KILN_OK, "%s",
                     error.text);
        (void)snprintf(identities[i], sizeof identities[i], "%s", identity);
        kiln_codegen_unref(codegen);
        cr_assert_eq(unlink(path), 0);
    }
    cr_expect_eq(rmdir(directory), 0);
    cr_expect_str_neq(identities[0], identities[1]);
}

static int compile_for_the_host(void)
{
    const struct kiln_codegen_options options = {.max_workers = 1};
    struct kiln_codegen *codegen;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_codegen_create(&options, &codegen, &error) != KILN_OK)
        return 1;
    enum kiln_status status = sample_compile(codegen, "host", NULL, &error);
    if (status != KILN_OK)
        (void)fprintf(stderr, "%s\n", error.text);
    kiln_codegen_unref(codegen);
    return status == KILN_OK ? 0 : 1;
}

Test(codegen, compiles_without_proc)
{
    int result = without_proc_run(compile_for_the_host);
    if (result < 0)
        cr_skip_test("this process may not hide /proc");
    cr_expect_eq(result, 0);
}

struct concurrent_compile {
    struct kiln_codegen *codegen;
    struct kiln_code_object object;
};

static void *compile_for_host(void *context)
{
    struct concurrent_compile *one = context;
    struct kiln_target target = sample_target("host");
    one->object = compile(one->codegen, &target);
    return NULL;
}

/* Eight compilations queue for one worker. The last one waits for all others, and still takes
 * about as much CPU time as the first. The worker's CPU time bounds their sum. */
Test(codegen, the_time_of_a_kernel_is_not_that_of_the_queue)
{
    enum { COMPILATIONS = 8 };
    const struct kiln_codegen_options options = {.max_workers = 1};
    struct kiln_error error;
    struct concurrent_compile all[COMPILATIONS] = {0};
    pthread_t threads[COMPILATIONS];
    struct rusage before, after;
    kiln_error_init(&error);
    struct kiln_codegen *codegen = NULL;
    cr_assert_eq(kiln_codegen_create(&options, &codegen, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(getrusage(RUSAGE_CHILDREN, &before), 0);
    for (int i = 0; i < COMPILATIONS; i++) {
        all[i].codegen = codegen;
        cr_assert_eq(pthread_create(&threads[i], NULL, compile_for_host, &all[i]), 0);
    }
    uint64_t sum_ns = 0;
    for (int i = 0; i < COMPILATIONS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_expect_gt(all[i].object.compile_ns, 0);
        sum_ns += all[i].object.compile_ns;
        kiln_code_object_fini(&all[i].object);
    }
    kiln_codegen_unref(codegen); /* ends the worker, whose time counts from then on */
    cr_assert_eq(getrusage(RUSAGE_CHILDREN, &after), 0);
    uint64_t used_us = (uint64_t)(after.ru_utime.tv_sec - before.ru_utime.tv_sec +
                                  after.ru_stime.tv_sec - before.ru_stime.tv_sec) *
                           1000000 +
                       (uint64_t)(after.ru_utime.tv_usec + after.ru_stime.tv_usec) -
                       (uint64_t)(before.ru_utime.tv_usec + before.ru_stime.tv_usec);
    cr_expect_leq(sum_ns / 1000, used_us + 1000);
}

Test(codegen, tells_what_it_compiled)
{
    struct kiln_codegen *codegen = sample_codegen(NULL, 60);
    struct kiln_target target = sample_target("host");
    captured_log_start(KILN_LOG_INFO);
    struct kiln_code_object object = compile(codegen, &target);
    cr_expect_not_null(strstr(captured_log_last(), "was compiled in "), "%s", captured_log_last());
    cr_expect_not_null(strstr(captured_log_last(), " ms of CPU time by host"), "%s",
                       captured_log_last());
    kiln_code_object_fini(&object);
    kiln_codegen_unref(codegen);
}
