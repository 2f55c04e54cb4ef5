#include "tests/runtime/support/temporary_directory.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[PATH_MAX / 2];

const char *temporary_directory_make(void)
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(directory, sizeof directory, "%s/kiln-test-XXXXXX",
                   parent != NULL && *parent != '\0' ? parent : "/tmp");
    return mkdtemp(directory);
}

/* A test may have taken a directory's permissions away; on the way down they are given back. */
static int open_up(const char *path, const struct stat *attributes, int kind, struct FTW *place)
{
    (void)attributes;
    (void)place;
    if (kind == FTW_D || kind == FTW_DNR)
        (void)chmod(path, 0700);
    return 0;
}

static int remove_one(const char *path, const struct stat *attributes, int kind, struct FTW *place)
{
    (void)attributes;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void temporary_directory_remove(void)
{
    if (directory[0] == '\0')
        return;
    (void)nftw(directory, open_up, 16, FTW_PHYS);
    (void)nftw(directory, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    directory[0] = '\0';
}

const char *temporary_path(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, PATH_MAX, "%s/%s", directory, name);
    return path;
}

int directory_count(const char *path)
{
    DIR *stream = opendir(path);
    if (stream == NULL)
        return -1;
    int count = -2;
    while (readdir(stream) != NULL)
        count++;
    (void)closedir(stream);
    return count;
}
