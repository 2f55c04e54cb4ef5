#include "runtime/support/suggest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const words[] = {"compile", "run", "explain", "targets", "cache", "version"};

static const char *suggest(const char *word)
{
    static char hint[KILN_WORD_HINT_BYTES];
    return kiln_word_hint(hint, word, "", words, sizeof(words) / sizeof(*words)) ? hint : NULL;
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
    cr_assert_str_eq(suggest("complie"), "did you mean 'compile'?");
    cr_assert_str_eq(suggest("rnu"), "did you mean 'run'?");
    cr_assert_str_eq(suggest("target"), "did you mean 'targets'?");
    cr_assert_str_eq(suggest("exp"), "did you mean 'explain'?", "a beginning is near");
    cr_assert_str_eq(suggest("versoin"), "did you mean 'version'?");
}

Test(suggest, lists_all_that_are_equally_near)
{
    static const char *const options[] = {"verify", "json", "verbose", "version", "verbatim"};
    char hint[KILN_WORD_HINT_BYTES];
    cr_assert(kiln_word_hint(hint, "ver", "--", options, 5));
    cr_assert_str_eq(hint, "did you mean '--verify', '--verbose', '--version' or '--verbatim'?");
    cr_assert(kiln_word_hint(hint, "VERB", "", options, 5));
    cr_assert_str_eq(hint, "did you mean 'verbose' or 'verbatim'?");
}

Test(suggest, a_long_list_is_cut)
{
    const char *many[200];
    char hint[KILN_WORD_HINT_BYTES];
    for (size_t i = 0; i < 200; i++)
        many[i] = "softmax";
    cr_assert(kiln_word_hint(hint, "soft", "", many, 200));
    cr_assert(strstr(hint, "'softmax' or others?"), "%s", hint);
    cr_assert_lt(strlen(hint), 120);
}

Test(suggest, says_nothing_when_nothing_is_near)
{
    cr_assert_null(suggest("frobnicate"));
    cr_assert_null(suggest("x"));
    cr_assert_null(suggest(""));
}
