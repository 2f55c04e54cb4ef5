/*
 * Looking for an entry in one directory, of a store or a layer. A directory has any number of
 * entries of one name: one for each compiler that has made it here, and one that was made
 * elsewhere (struct kiln_entry_file_id).
 */
#ifndef KILN_CACHE_DIRECTORY_LOOKUP_H
#define KILN_CACHE_DIRECTORY_LOOKUP_H

#include "cache/cache_directory.h"
#include "cache/entry_file.h"

/* Whose entries a lookup takes. */
enum kiln_entry_makers {
    KILN_ENTRY_OF_MARK, /* of the one compiler */
    KILN_ENTRY_SHIPPED, /* what was made elsewhere, whatever made it */
    KILN_ENTRY_OF_ANY,
};

/*
 * The verified entry of the key. `mark`: of the compiler of KILN_ENTRY_OF_MARK. KILN_NOT_FOUND,
 * with what there is to say logged, KILN_NO_MEMORY. Notes the use, and removes what is damaged,
 * unless the directory is a layer.
 */
enum kiln_status kiln_cache_directory_lookup(const struct kiln_cache_directory *directory,
                                             const struct kiln_cache_key *key,
                                             enum kiln_entry_makers makers, uint64_t mark,
                                             struct kiln_entry *ret_entry,
                                             struct kiln_error *error) KILN_NODISCARD;

/*
 * Judges the answer of a tier: KILN_OK when it is the entry of the key, otherwise KILN_NO_MEMORY,
 * or KILN_NOT_FOUND after logging the reason and dropping the entry. `place` names the tier, `file`
 * what was read in it; `consequence` says what became of a damaged entry.
 */
enum kiln_status kiln_cache_judge(enum kiln_status status, const struct kiln_cache_key *key,
                                  const char *place, const char *file, const char *consequence,
                                  struct kiln_entry *entry,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
