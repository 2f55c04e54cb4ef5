#include "tests/cache/store_fixture.h"

#include "cache/entry_file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static struct kiln_cache_store *open_store(const char *directory, uint64_t max_bytes,
                                           const char *layers)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    const struct kiln_cache_options options = {.directory = directory,
                                               .max_bytes = &max_bytes,
                                               .layers = layers,
                                               .system_layer = "",
                                               .remote = ""};
    cr_assert_eq(kiln_cache_store_open(&options, &store, &error), KILN_OK, "%s", error.text);
    return store;
}

struct kiln_cache_store *store_fixture_open(const char *directory, uint64_t max_bytes)
{
    return open_store(directory, max_bytes, "");
}

struct kiln_cache_store *store_fixture_open_layers(const char *directory, const char *layers)
{
    return open_store(directory, 0, layers);
}

void store_fixture_insert(struct kiln_cache_store *store, unsigned number, size_t size)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_cache_key key = sample_key(number);
    void *payload = malloc(size);
    cr_assert_not_null(payload);
    sample_payload_fill(payload, size, number, number + 1);
    cr_assert_eq(kiln_cache_store_insert(store, &key, NULL, payload, size, &error), KILN_OK, "%s",
                 error.text);
    free(payload);
    kiln_cache_key_fini(&key);
}

bool store_fixture_has(struct kiln_cache_store *store, unsigned number)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_cache_key key = sample_key(number);
    void *payload = NULL;
    size_t size = 0;
    enum kiln_status status = kiln_cache_store_lookup(store, &key, &payload, &size, &error);
    kiln_cache_key_fini(&key);
    cr_assert(status == KILN_OK || status == KILN_NOT_FOUND, "%s", error.text);
    if (status == KILN_OK)
        cr_assert(sample_payload_is_whole(payload, size, number));
    free(payload);
    return status == KILN_OK;
}

const char *store_fixture_path(const char *directory, unsigned number)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    struct kiln_cache_key key = sample_key(number);
    struct kiln_entry_name name;
    kiln_entry_name_set(&name, &key, 0);
    kiln_cache_key_fini(&key);
    (void)snprintf(path, PATH_MAX, "%s/%s/%s", directory, name.fanout, name.file);
    return path;
}

bool store_fixture_is_file(const char *directory, unsigned number)
{
    struct stat attributes;
    return lstat(store_fixture_path(directory, number), &attributes) == 0;
}

void store_fixture_age(const char *path, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0, "%s", path);
}

int64_t store_fixture_age_of(const char *path)
{
    struct stat attributes;
    cr_assert_eq(lstat(path, &attributes), 0, "%s", path);
    return (int64_t)time(NULL) - (int64_t)attributes.st_mtim.tv_sec;
}
