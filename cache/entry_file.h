/*
 * One entry as a file of a fan-out directory: its name, reading it with all checks, removing a
 * damaged one.
 */
#ifndef KILN_CACHE_ENTRY_FILE_H
#define KILN_CACHE_ENTRY_FILE_H

#include "cache/cache_key.h"
#include "cache/entry_format.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stdbool.h>
#include <sys/stat.h>

enum {
    /* A use is noted when the last one that was noted is this old: so a reading process writes
     * nothing most of the time. */
    KILN_ENTRY_USE_INTERVAL_S = 3600,
    KILN_ENTRY_FANOUT_NAME_BYTES = 3,
    KILN_ENTRY_MARK_HEX = 16,
    KILN_ENTRY_FILE_NAME_BYTES = KILN_CACHE_HASH_HEX + 1 + KILN_ENTRY_MARK_HEX + sizeof ".kiln3",
};

/* The parts of the name of an entry's file. */
struct kiln_entry_file_id {
    struct kiln_hash128 hash; /* of the key */
    /* kiln_cache_compiler_mark of the compiler that made it here. 0: it was made elsewhere, and is
     * used whatever compiler made it; each hash has one such file. */
    uint64_t mark;
    unsigned format; /* version of the entry format, from 1 on */
};

struct kiln_entry_name {
    char fanout[KILN_ENTRY_FANOUT_NAME_BYTES]; /* the first two digits of the hash */
    char file[KILN_ENTRY_FILE_NAME_BYTES];     /* hash, mark, suffix */
};

void kiln_entry_name_set(struct kiln_entry_name *name, const struct kiln_cache_key *key,
                         uint64_t mark);
void kiln_entry_name_set_id(struct kiln_entry_name *name, const struct kiln_entry_file_id *id);
/* True if `file` is an entry's name that belongs into the fan-out directory `fanout`; `ret_id` may
 * be NULL. Files of a format before KILN_ENTRY_FORMAT_VERSION are never read. */
bool kiln_entry_name_parse(const char *fanout, const char *file, struct kiln_entry_file_id *ret_id);

/* An entry in memory. */
struct kiln_entry {
    struct kiln_buffer bytes;    /* owned */
    struct kiln_entry_view view; /* into bytes */
};

void kiln_entry_fini(struct kiln_entry *entry);

enum kiln_entry_file_flag {
    KILN_ENTRY_FILE_OF_LAYER = 1, /* root may own it as well as this user */
    KILN_ENTRY_FILE_NOTE_USE = 2, /* the file's time becomes now, unless that is hardly news */
};

/*
 * Reads and verifies the entry in the open directory `fanout`: an ordinary file that belongs to
 * this user and that others cannot write to, with every byte right, whose name has the hashes of
 * its key and compiler. `flags` is a sum of enum kiln_entry_file_flag. KILN_NOT_FOUND when there is
 * no file; KILN_CORRUPT when it is there and damaged; KILN_IO, KILN_NO_MEMORY when it could not be
 * judged. `ret_identity`: of the file that was found damaged, set only with KILN_CORRUPT.
 */
enum kiln_status kiln_entry_file_read(int fanout, const char *file, unsigned flags,
                                      struct kiln_entry *ret_entry, struct stat *ret_identity,
                                      struct kiln_error *error) KILN_NODISCARD;

/* Notes a use as KILN_ENTRY_FILE_NOTE_USE does, without reading; `is_now`: however short ago the
 * last one was noted. False when there is no ordinary file. */
bool kiln_entry_file_note_use(int fanout, const char *file, bool is_now);

/* Removes the file if it still is the one of `identity`, unchanged: another process may have
 * replaced it by a good one. The moment between the check and the removal is left; it can cost an
 * entry and nothing else. A directory in its place is cleared too
 * (kiln_cache_directory_clear_place). */
bool kiln_entry_file_remove(int fanout, const char *file, const struct stat *identity);

#endif
