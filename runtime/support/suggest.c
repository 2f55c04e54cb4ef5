#include "runtime/support/suggest.h"

#include <string.h>

enum { LONGEST_WORD = 63, FAR = 1000 };

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
            size_t replaced = above[j - 1] + (one[i - 1] != other[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, replaced);
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[columns];
}

const char *kiln_word_suggest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    size_t near = length <= 3 ? 1 : length <= 7 ? 2 : 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = kiln_word_distance(word, candidates[i]);
        if (length >= 2 && strncmp(word, candidates[i], length) == 0)
            distance = least(distance, 1);
        if (distance <= near && (!nearest || distance < kiln_word_distance(word, nearest)))
            nearest = candidates[i];
    }
    return nearest;
}
