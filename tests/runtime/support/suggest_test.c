#include "runtime/support/suggest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const words[] = {"compile", "run", "explain", "targets", "cache", "version"};

static const char *suggest(const char *word)
{
    return kiln_word_suggest(word, words, sizeof(words) / sizeof(*words));
}

Test(suggest, distance_counts_edits)
{
    cr_assert_eq(kiln_word_distance("", ""), 0);
    cr_assert_eq(kiln_word_distance("abc", "abc"), 0);
    cr_assert_eq(kiln_word_distance("", "abc"), 3);
    cr_assert_eq(kiln_word_distance("abc", ""), 3);
    cr_assert_eq(kiln_word_distance("kitten", "sitting"), 3);
    cr_assert_eq(kiln_word_distance("ab", "ba"), 1, "neighbours swapped are one edit");
    cr_assert_eq(kiln_word_distance("cahce", "cache"), 1);
    cr_assert_eq(kiln_word_distance("ca", "abc"), 3, "optimal string alignment, not Damerau");
}

Test(suggest, long_words_are_far_from_everything)
{
    char word[200];
    memset(word, 'a', sizeof(word));
    word[199] = '\0';
    cr_assert_gt(kiln_word_distance(word, "a"), 100);
    cr_assert_null(suggest(word));
}

Test(suggest, finds_the_nearest)
{
    cr_assert_str_eq(suggest("complie"), "compile");
    cr_assert_str_eq(suggest("rnu"), "run");
    cr_assert_str_eq(suggest("target"), "targets");
    cr_assert_str_eq(suggest("exp"), "explain", "a beginning is near");
    cr_assert_str_eq(suggest("versoin"), "version");
}

Test(suggest, says_nothing_when_nothing_is_near)
{
    cr_assert_null(suggest("frobnicate"));
    cr_assert_null(suggest("x"));
    cr_assert_null(suggest(""));
}
