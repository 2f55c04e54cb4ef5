/*
 * The settings of a store as texts.
 */
#ifndef KILN_CACHE_CACHE_SETTINGS_H
#define KILN_CACHE_CACHE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define KILN_CACHE_MAX_BYTES_DEFAULT ((uint64_t)1 << 30)

/* A decimal number, with K, M, G or T behind it (either case; KB and KiB mean the same) for
 * powers of 1024. False, and nothing set, when it is not that or is too large. */
bool kiln_cache_bytes_parse(const char *text, uint64_t *ret_bytes);

/* KILN_CACHE_MAX_SIZE in bytes, 0 for no limit; the default with a warning when it is malformed. */
uint64_t kiln_cache_max_bytes_setting(void);

/* True if KILN_CACHE_ACCEPT is "same-compiler". An unknown value gives a warning and false. */
bool kiln_cache_same_compiler_setting(void);

#endif
