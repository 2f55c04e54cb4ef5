/*
 * Counts of the questions that a process was asked for each captured graph, in the capture
 * directory.
 *
 * Each process writes a file of its own, named after the process (temporary_name.h), so no
 * process waits for another one and none overwrites what another has counted, on network file
 * systems too. A graph has a line of fixed length, which each new count replaces in place: a killed
 * process leaves all that it counted, and no lock. Readers add up the lines of all files.
 *
 *     <hash of the graph, 32 hex digits> <count, right-aligned in 20 columns>
 */
#ifndef KILN_RUNTIME_ENGINE_CAPTURE_COUNTS_H
#define KILN_RUNTIME_ENGINE_CAPTURE_COUNTS_H

#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stddef.h>
#include <stdint.h>

#define KILN_CAPTURE_COUNTS_SUFFIX ".counts"

enum { KILN_CAPTURE_COUNTS_LIMIT_BYTES = 16 << 20 };

struct kiln_capture_counts {
    int descriptor; /* -1: no file yet */
    uint32_t lines; /* in the file */
};

void kiln_capture_counts_init(struct kiln_capture_counts *counts);
/* Closes the file, which stays. */
void kiln_capture_counts_fini(struct kiln_capture_counts *counts);

/*
 * Writes the count of a graph to line `*line`; UINT32_MAX: to a new one, whose number is stored.
 * The first call creates the file. KILN_IO: nothing was written, and another attempt may be made.
 * One system call once the file is there.
 */
enum kiln_status kiln_capture_counts_write(struct kiln_capture_counts *counts,
                                           const char *directory, struct kiln_hash128 graph,
                                           uint64_t count, uint32_t *line,
                                           struct kiln_error *error) KILN_NODISCARD;

/* Calls `take` for each sound line of a file's content, which is anybody's; others are left out. */
void kiln_capture_counts_read(const void *content, size_t size, void *context,
                              void (*take)(void *context, struct kiln_hash128 graph,
                                           uint64_t count));

#endif
