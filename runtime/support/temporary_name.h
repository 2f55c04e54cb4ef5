/*
 * Names of temporary files, which say who writes them, so that what a killed process has left can
 * be told from what a living one is writing, with no lock and without waiting:
 *
 *     .kiln-<machine>-<process>-<start>-<random>.tmp    hex numbers
 *
 * "Machine" is a hash of the boot and of the name spaces that process numbers and start times are
 * of: containers and machines that share a directory do not take each other's processes for their
 * own. A part that could not be found out is 0, which proves nothing.
 */
#ifndef KILN_RUNTIME_SUPPORT_TEMPORARY_NAME_H
#define KILN_RUNTIME_SUPPORT_TEMPORARY_NAME_H

#include <stdbool.h>

enum { KILN_TEMPORARY_NAME_BYTES = 80 }; /* with the NUL */

enum { KILN_WRITER_TEXT_BYTES = 68 }; /* with the NUL */

/* The part of a name between prefix and suffix, which says who writes, for names of other forms. */
void kiln_writer_text_make(char ret_text[KILN_WRITER_TEXT_BYTES], unsigned attempt);
/* True when the text begins with one whose writer was a process of this machine that has ended.
 * False proves nothing. */
bool kiln_writer_text_is_of_the_dead(const char *text);

/* A new name; `attempt` counts the calls for one file, for a machine that has no entropy yet. */
void kiln_temporary_name_make(char ret_name[KILN_TEMPORARY_NAME_BYTES], unsigned attempt);

/* True for these names and for those of other versions: ".kiln-", hex digits and dashes, ".tmp". */
bool kiln_temporary_name_matches(const char *name);

/* True when the writer was a process of this machine that has ended. False proves nothing. */
bool kiln_temporary_name_is_orphan(const char *name);

#endif
