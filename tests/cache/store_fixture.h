/* A store in a temporary directory, with what its tests ask of it again and again. */
#ifndef KILN_TESTS_CACHE_STORE_FIXTURE_H
#define KILN_TESTS_CACHE_STORE_FIXTURE_H

#include "cache/cache_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens a store in `directory` alone: no layer, no shared tier; 0: no limit. */
struct kiln_cache_store *store_fixture_open(const char *directory, uint64_t max_bytes);
/* The same with layers under it. */
struct kiln_cache_store *store_fixture_open_layers(const char *directory, const char *layers);

/* Inserts a sample payload of `size` bytes under sample_key(number). */
void store_fixture_insert(struct kiln_cache_store *store, unsigned number, size_t size);
/* True if a lookup finds it whole; fails the test when it finds anything else. */
bool store_fixture_has(struct kiln_cache_store *store, unsigned number);

/* The path of the entry of sample_key(number) below `directory`; used again a few calls later. */
const char *store_fixture_path(const char *directory, unsigned number);
/* True if there is a file, which is no use of it. */
bool store_fixture_is_file(const char *directory, unsigned number);
/* Sets the file's time to so many seconds before now, or ahead of it when negative. */
void store_fixture_age(const char *path, int64_t seconds);
/* Seconds since the file's time. */
int64_t store_fixture_age_of(const char *path);

#endif
