#include "runtime/support/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_WORD = 63, FAR = 1000, MOST_CANDIDATES = 8 };

static bool is_same_letter(char one, char other)
{
    return tolower((unsigned char)one) == tolower((unsigned char)other);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment with three rows of the table. */
size_t kiln_word_distance(const char *one, const char *other)
{
    size_t rows = strlen(one);
    size_t columns = strlen(other);
    if (rows > LONGEST_WORD || columns > LONGEST_WORD)
        return FAR;
    size_t table[3][LONGEST_WORD + 1];
    size_t *before = table[0];
    size_t *above = table[1];
    size_t *row = table[2];
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *recycled = before;
        before = above;
        above = row;
        row = recycled;
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t replaced = above[j - 1] + !is_same_letter(one[i - 1], other[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, replaced);
            if (i > 1 && j > 1 && is_same_letter(one[i - 1], other[j - 2]) &&
                is_same_letter(one[i - 2], other[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[columns];
}

/* The distance of a candidate; one at most when the word begins it, and still near when it contains
 * the word. FAR when it is not near. */
static size_t score(const char *word, const char *candidate)
{
    size_t length = strlen(word);
    size_t near = length <= 1 ? 0 : length <= 3 ? 1 : length <= 7 ? 2 : 3;
    size_t distance = kiln_word_distance(word, candidate);
    if (length >= 1 && strncasecmp(word, candidate, length) == 0)
        return least(distance, 1);
    if (length >= 3 && strcasestr(candidate, word) != NULL)
        distance = least(distance, near);
    return distance <= near ? distance : FAR;
}

bool kiln_word_hint(char ret_hint[KILN_WORD_HINT_BYTES], const char *word, const char *mark,
                    const char *const *candidates, size_t count)
{
    size_t nearest = FAR;
    size_t near_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t distance = score(word, candidates[i]);
        near_count = distance < nearest ? 0 : near_count;
        nearest = least(distance, nearest);
        near_count += distance != FAR && distance == nearest;
    }
    *ret_hint = '\0';
    if (near_count == 0)
        return false;
    size_t used = 0;
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < MOST_CANDIDATES && used < KILN_WORD_HINT_BYTES; i++) {
        if (score(word, candidates[i]) != nearest)
            continue;
        shown++;
        const char *separator = shown == 1 ? "did you mean " : shown == near_count ? " or " : ", ";
        used += (size_t)snprintf(ret_hint + used, KILN_WORD_HINT_BYTES - used, "%s'%s%s'",
                                 separator, mark, candidates[i]);
    }
    if (used < KILN_WORD_HINT_BYTES)
        (void)snprintf(ret_hint + used, KILN_WORD_HINT_BYTES - used,
                       shown < near_count ? " or others?" : "?");
    return true;
}
