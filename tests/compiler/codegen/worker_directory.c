#include "worker_directory.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[32];

void worker_directory_make(void)
{
    (void)strcpy(directory, "/tmp/kiln-test-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("TMPDIR", directory, 1), 0);
    cr_assert_eq(setenv("KILN_DUMP_DIR", "/nonexistent", 1), 0);
}

void worker_directory_remove(void)
{
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

const char *worker_directory_path(const char *name)
{
    enum { PATHS = 4 };
    static char paths[PATHS][64];
    static unsigned next;
    char *path = paths[next++ % PATHS];
    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

const char *worker_directory_write_compiler(const char *script)
{
    const char *path = worker_directory_path("c++");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fprintf(file, "#!/bin/sh\n%s", script);
    (void)fclose(file);
    cr_assert_eq(chmod(path, 0700), 0);
    cr_assert_eq(setenv("KILN_HOST_CXX", path, 1), 0);
    return path;
}

const char *worker_directory_misbehave_once(const char *mode)
{
    const char *mark = worker_directory_path("mark");
    cr_assert_eq(setenv("KILN_FAKE_WORKER", mode, 1), 0);
    cr_assert_eq(setenv("KILN_FAKE_WORKER_ONCE", mark, 1), 0);
    cr_assert_eq(setenv("KILN_REAL_WORKER", REAL_WORKER, 1), 0);
    return mark;
}

size_t worker_directory_count_living(pid_t *ret_process)
{
    size_t count = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *item; (item = readdir(processes)) != NULL;) {
        char path[300];
        char text[4096];
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", item->d_name);
        FILE *file = *item->d_name >= '1' && *item->d_name <= '9' ? fopen(path, "r") : NULL;
        size_t size = file != NULL ? fread(text, 1, sizeof text, file) : 0;
        if (memmem(text, size, directory, strlen(directory)) != NULL) {
            count++;
            if (ret_process != NULL)
                *ret_process = (pid_t)strtol(item->d_name, NULL, 10);
        }
        if (file != NULL)
            (void)fclose(file);
    }
    (void)closedir(processes);
    return count;
}

bool worker_directory_wait_until_live(size_t least, size_t most)
{
    for (int i = 0; i < 1000; i++) {
        size_t count = worker_directory_count_living(NULL);
        if (count >= least && count <= most)
            return true;
        (void)usleep(10000);
    }
    return false;
}
