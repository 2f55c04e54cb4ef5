/* The environment of compilers while the host's changes, and directories for temporary files where
 * TMPDIR names none. (What reaches a compiler: compile_isolation_test.c.) */
#include "compiler/codegen/compile_environment.h"

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "KILN_OF_THIS_TEST"
enum { LONG_BYTES = 8192 };

static char long_value[LONG_BYTES];
static _Atomic bool is_over;

static void *change_all_the_time(void *context)
{
    (void)context;
    while (!atomic_load(&is_over)) {
        (void)setenv(VARIABLE, "x", 1);
        (void)setenv(VARIABLE, long_value, 1);
    }
    return NULL;
}

/* Counted first and copied then, a variable that had grown went past the end of the array. */
Test(compile_environment, host_changes_its_environment_meanwhile)
{
    enum { ROUNDS = 3000 };
    memset(long_value, 'y', sizeof long_value - 1);
    cr_assert_eq(setenv(VARIABLE, long_value, 1), 0);
    pthread_t changer;
    cr_assert_eq(pthread_create(&changer, NULL, change_all_the_time, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char **environment = kiln_compile_environment_create("/scratch");
        cr_assert_not_null(environment);
        size_t found = 0;
        for (char **at = environment; *at != NULL; at++) {
            if (strncmp(*at, VARIABLE "=", sizeof VARIABLE) != 0)
                continue;
            const char *value = *at + sizeof VARIABLE;
            cr_assert(strcmp(value, "x") == 0 || strcmp(value, long_value) == 0, "%.80s", value);
            found++;
        }
        cr_assert_eq(found, 1);
        free(environment);
    }
    atomic_store(&is_over, true);
    cr_assert_eq(pthread_join(changer, NULL), 0);
}

Test(compile_environment, without_a_path_programs_are_where_the_system_has_them)
{
    for (int is_set = 0; is_set < 2; is_set++) {
        char **environment;
        cr_assert_eq(is_set ? setenv("PATH", "/mine", 1) : unsetenv("PATH"), 0);
        environment = kiln_compile_environment_create(NULL);
        cr_assert_not_null(environment);
        size_t found = 0;
        for (char **at = environment; *at != NULL; at++) {
            if (strncmp(*at, "PATH=", 5) == 0) {
                cr_expect_str_eq(*at, is_set ? "PATH=/mine" : "PATH=/usr/local/bin:/usr/bin:/bin");
                found++;
            }
        }
        cr_expect_eq(found, 1);
        free(environment);
    }
}

Test(compile_environment, scratch_directory_is_where_it_can_be)
{
    static const char *const parents[] = {"/nonexistent", "/proc", "relative", ""};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        struct kiln_error error;
        struct stat attributes;
        kiln_error_init(&error);
        cr_assert_eq(setenv("TMPDIR", parents[i], 1), 0);
        char *path = kiln_scratch_directory_create(&error);
        cr_assert_not_null(path, "%s", error.text);
        cr_expect_eq(strncmp(path, "/tmp/", 5), 0, "%s", path);
        cr_expect(kiln_scratch_directory_is_one(path), "%s", path);
        cr_expect(kiln_scratch_directory_is_intact(path));
        cr_assert_eq(stat(path, &attributes), 0);
        cr_expect_eq(attributes.st_mode & 0777, 0700);
        kiln_scratch_directory_remove(path);
        cr_expect_not(kiln_scratch_directory_is_intact(path));
        free(path);
    }
}

Test(compile_environment, not_every_directory_is_a_scratch_directory)
{
    static const char *const paths[] = {"/tmp", "kiln-compile-x", "/var/kiln-compile", "",
                                        "/tmp/kiln-compile-x/y"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        cr_expect_not(kiln_scratch_directory_is_one(paths[i]), "%s", paths[i]);
    cr_expect(kiln_scratch_directory_is_one("/tmp/kiln-compile-x"));
}

/* The directory of a process that ends without removing it. */
static char *abandoned_directory(void)
{
    static char path[4096];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct kiln_error error;
        kiln_error_init(&error);
        const char *made = kiln_scratch_directory_create(&error);
        bool is_told = made != NULL && write(ends[1], made, strlen(made)) > 0;
        _exit(is_told ? 0 : 1);
    }
    ssize_t length = read(ends[0], path, sizeof path - 1);
    cr_assert_gt(length, 0);
    path[length] = '\0';
    cr_assert_eq(waitpid(child, NULL, 0), child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return path;
}

Test(compile_environment, what_the_dead_have_left_is_swept)
{
    struct kiln_error error;
    kiln_error_init(&error);
    char *mine = kiln_scratch_directory_create(&error);
    cr_assert_not_null(mine, "%s", error.text);
    const char *left = abandoned_directory();
    char command[4200];
    (void)snprintf(command, sizeof command, "mkdir -p '%s/a' && touch '%s/a/b'", left, left);
    cr_assert_eq(system(command), 0);
    cr_assert(kiln_scratch_directory_is_intact(left));
    kiln_scratch_directory_sweep(mine);
    cr_expect_not(kiln_scratch_directory_is_intact(left));
    cr_expect(kiln_scratch_directory_is_intact(mine));
    kiln_scratch_directory_destroy(mine);
}
