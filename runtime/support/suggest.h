/*
 * "did you mean": the known words that a mistyped one is nearest to.
 */
#ifndef KILN_RUNTIME_SUPPORT_SUGGEST_H
#define KILN_RUNTIME_SUPPORT_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { KILN_WORD_HINT_BYTES = 512 };

/* Edits (insert, drop, replace, swap neighbours) that turn one word into the other, in any case;
 * words longer than 63 bytes count as far from everything. */
size_t kiln_word_distance(const char *one, const char *other);

/*
 * Writes "did you mean 'one' or 'other'?" with the nearest candidates in their order, up to eight
 * that are equally near, each after `mark` ("--" for options). False, with an empty text, when none
 * is near. Candidates within one edit are near for words of two and three letters, within two for
 * words of up to seven, within three for longer ones. So are candidates that begin with the word
 * and, from three letters on, those that contain it.
 */
bool kiln_word_hint(char ret_hint[KILN_WORD_HINT_BYTES], const char *word, const char *mark,
                    const char *const *candidates, size_t count);

#endif
