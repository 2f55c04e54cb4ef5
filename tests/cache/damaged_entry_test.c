/*
 * Every single flipped bit and every truncation of an entry, through the store: a miss, and nothing
 * wrong comes back.
 */
#include "cache/cache_store.h"

#include "cache/entry_format.h"
#include "runtime/support/file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAYLOAD_BYTES = 3000, NUMBER = 7 };

static struct kiln_error error;
static struct kiln_cache_key key;
static struct kiln_buffer good;
static char path[4096];

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    key = sample_key(NUMBER);
    kiln_buffer_init(&good);
    captured_log_start(KILN_LOG_WARN);
}

static void tear_down(void)
{
    kiln_cache_key_fini(&key);
    kiln_buffer_fini(&good);
    temporary_directory_remove();
}

TestSuite(damaged_entry, .init = set_up, .fini = tear_down, .timeout = 300);

static struct kiln_cache_store *open_and_fill(const char *name)
{
    struct kiln_cache_store *store = store_fixture_open(temporary_path(name), 0);
    store_fixture_insert(store, NUMBER, PAYLOAD_BYTES);
    (void)snprintf(path, sizeof path, "%s", store_fixture_path(temporary_path(name), NUMBER));
    cr_assert_eq(kiln_file_read(path, 1 << 20, &good, &error), KILN_OK, "%s", error.text);
    return store;
}

/* No assertion of the framework for each of tens of thousands of cases: they are slow. */
static bool is_miss(struct kiln_cache_store *store)
{
    void *payload = NULL;
    size_t size = 0;
    kiln_error_init(&error);
    bool miss = kiln_cache_store_lookup(store, &key, &payload, &size, &error) == KILN_NOT_FOUND;
    free(payload);
    return miss;
}

static bool put(const void *bytes, size_t size)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool written = descriptor >= 0 && write(descriptor, bytes, size) == (ssize_t)size;
    return descriptor >= 0 && close(descriptor) == 0 && written;
}

static bool exists(void)
{
    struct stat attributes;
    return lstat(path, &attributes) == 0;
}

/* Each damaged file is removed by the lookup that finds it, and written anew for the next case. */
Test(damaged_entry, in_the_directory)
{
    struct kiln_cache_store *store = open_and_fill("cache");
    unsigned cases = 0;
    unsigned faults = 0;
    for (size_t bit = 0; bit < 8 * good.size; bit++, cases++) {
        good.data[bit / 8] ^= (char)(1 << bit % 8);
        if (!put(good.data, good.size) || !is_miss(store) || exists())
            faults++;
        good.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t size = 0; size < good.size; size++, cases++) {
        if (!put(good.data, size) || !is_miss(store) || exists())
            faults++;
    }
    cr_assert_gt(cases, 20000);
    cr_assert_eq(faults, 0, "%u of %u cases", faults, cases);
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), cases);
    cr_assert(put(good.data, good.size));
    cr_assert(store_fixture_has(store, NUMBER), "the file as it was is a hit");
    kiln_cache_store_close(store);
}

/* In a layer the damaged file stays, and what comes after the layer is found. */
Test(damaged_entry, in_a_layer)
{
    kiln_cache_store_close(open_and_fill("layer"));
    struct kiln_cache_store *store =
        store_fixture_open_layers(temporary_path("cache"), temporary_path("layer"));
    cr_assert(store_fixture_has(store, NUMBER));
    int descriptor = open(path, O_WRONLY);
    unsigned cases = 0;
    unsigned faults = 0;
    for (size_t bit = 0; bit < 8 * good.size; bit++, cases++) {
        char flipped = (char)(good.data[bit / 8] ^ 1 << bit % 8);
        if (pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)) != 1 || !is_miss(store))
            faults++;
        if (pwrite(descriptor, &good.data[bit / 8], 1, (off_t)(bit / 8)) != 1)
            faults++;
    }
    for (size_t size = good.size; size-- > 0; cases++) {
        if (ftruncate(descriptor, (off_t)size) != 0 || !is_miss(store))
            faults++;
    }
    cr_assert_gt(cases, 20000);
    cr_assert_eq(faults, 0, "%u of %u cases", faults, cases);
    cr_assert_eq(pwrite(descriptor, good.data, good.size, 0), (ssize_t)good.size);
    cr_assert(store_fixture_has(store, NUMBER), "the file as it was is a hit");
    cr_assert_eq(directory_count(temporary_path("cache")), 0);
    cr_assert_eq(close(descriptor), 0);
    kiln_cache_store_close(store);
}

Test(damaged_entry, a_directory_in_its_place_makes_way)
{
    struct kiln_cache_store *store = open_and_fill("cache");
    char inside[4200];
    (void)snprintf(inside, sizeof inside, "%s/kept", path);
    for (int is_full = 0; is_full < 2; is_full++) {
        cr_assert_eq(unlink(path), 0);
        cr_assert_eq(mkdir(path, 0755), 0);
        if (is_full)
            cr_assert_eq(mkdir(inside, 0755), 0);
        cr_expect(is_miss(store));
        store_fixture_insert(store, NUMBER, PAYLOAD_BYTES);
        cr_expect_not(is_miss(store), "%d", is_full);
    }
    kiln_cache_store_close(store);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Reading it whole would take more memory than there is. */
Test(damaged_entry, of_the_largest_size_is_not_read)
{
    struct kiln_cache_store *store = open_and_fill("cache");
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_eq(truncate(path, KILN_ENTRY_LIMIT_BYTES), 0);
    const struct rlimit limit = {.rlim_cur = 200U << 20, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_expect(is_miss(store), "%s", error.text);
    cr_expect_not(exists());
    kiln_cache_store_close(store);
}
#endif
