/* Keys for tests. */
#ifndef KILN_TESTS_CACHE_SAMPLE_KEY_H
#define KILN_TESTS_CACHE_SAMPLE_KEY_H

#include "cache/cache_key.h"

/* A finished key of two fields that is different for each number; the caller finis it. */
struct kiln_cache_key sample_key(unsigned number);

#endif
