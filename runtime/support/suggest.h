/*
 * "did you mean": the known word that a mistyped one is nearest to.
 */
#ifndef KILN_RUNTIME_SUPPORT_SUGGEST_H
#define KILN_RUNTIME_SUPPORT_SUGGEST_H

#include <stddef.h>

/* Edits (insert, drop, replace, swap neighbours) that turn one word into the other; words longer
 * than 63 bytes count as far from everything. */
size_t kiln_word_distance(const char *one, const char *other);

/* The nearest of the candidates, the first of equals; NULL when none is near: at most one edit for
 * words of up to three letters, two up to seven, three beyond, or the word begins the candidate. */
const char *kiln_word_suggest(const char *word, const char *const *candidates, size_t count);

#endif
