/*
 * Rows in local memory. A work-group copies all elements of its rows at once, since they follow each other in memory: rows of any
 * length, and pointers of any alignment, are accessed in aligned words of 16 bytes. Only the elements outside of whole words, at
 * both ends, are copied one by one. The copies touch nothing outside of the rows.
 *
 * In local memory elements have the same place within a word as in memory, so that both are accessed in whole words.
 */
#ifndef KILN_DEVICE_LOCAL_ROWS_H
#define KILN_DEVICE_LOCAL_ROWS_H

enum { KILN_WORD_BYTES = 16 };

/* The host's KILN_LOAD_STREAM leaves data where they are, so another macro copies them. */
#ifdef KILN_LOAD_ONE
#define KILN_FETCH_WORD(to, from) KILN_LOAD_STREAM(16, to, from)
#else
#define KILN_FETCH_WORD(to, from) KILN_LOAD_VECTOR(16, to, from)
#endif

/* `count` consecutive elements, counted from the start of the aligned word that has the first of them. */
template <class Element> struct kiln_span {
    enum { unit = KILN_WORD_BYTES / (int)sizeof(Element) };
    unsigned begin, end;       /* of the elements */
    unsigned word, word_count; /* whole words */
    unsigned head, tail;       /* elements before and after them */
};

template <class Element> KILN_DEVICE unsigned kiln_place_in_word(const Element *at)
{
    return ((unsigned)(unsigned long long)at & (KILN_WORD_BYTES - 1)) / (unsigned)sizeof(Element);
}

template <class Element> KILN_DEVICE kiln_span<Element> kiln_span_of(const Element *at, unsigned count)
{
    const unsigned unit = kiln_span<Element>::unit;
    kiln_span<Element> span;
    span.begin = kiln_place_in_word(at);
    span.end = span.begin + count;
    span.word = span.begin != 0;
    const unsigned last = span.end / unit;
    span.word_count = last > span.word ? last - span.word : 0;
    const unsigned whole = span.word * unit;
    span.head = (whole < span.end ? whole : span.end) - span.begin;
    span.tail = last >= span.word ? span.end - last * unit : 0;
    return span;
}

/* The words of a work-item on their way to local memory, at most `most`. They are put there once all loads are in flight. */
template <class Element, int most> struct kiln_fetched {
    kiln_span<Element> span;
    Element words[most][kiln_span<Element>::unit];
    Element head, tail;
};

template <class Element, int most>
KILN_DEVICE void kiln_fetch(const Element *at, unsigned count, kiln_fetched<Element, most> &fetched)
{
    const unsigned unit = kiln_span<Element>::unit;
    const unsigned item = kiln_work_item();
    const kiln_span<Element> span = kiln_span_of(at, count);
    const Element *base = at - span.begin;
    fetched.span = span;
    if (span.word_count > 0) {
        /* Without a condition, as in kiln_walk. */
        KILN_UNROLL
        for (unsigned i = 0; i < most; i++) {
            const unsigned nth = item + i * KILN_BLOCK;
            const unsigned word = span.word + (nth < span.word_count ? nth : span.word_count - 1);
            KILN_FETCH_WORD(fetched.words[i], base + word * unit)
        }
    }
    if (item < span.head)
        fetched.head = at[item];
    if (item < span.tail)
        fetched.tail = base[span.end - span.tail + item];
}

template <class Element, int most>
KILN_DEVICE void kiln_put_rows(const kiln_fetched<Element, most> &fetched, Element *rows)
{
    const unsigned unit = kiln_span<Element>::unit;
    const unsigned item = kiln_work_item();
    const kiln_span<Element> &span = fetched.span;
    KILN_UNROLL
    for (unsigned i = 0; i < most; i++) {
        const unsigned nth = item + i * KILN_BLOCK;
        if (nth < span.word_count)
            KILN_STORE_LOCAL(16, &rows[(span.word + nth) * unit], fetched.words[i])
    }
    if (item < span.head)
        rows[span.begin + item] = fetched.head;
    if (item < span.tail)
        rows[span.end - span.tail + item] = fetched.tail;
}

template <class Element, int most>
KILN_DEVICE void kiln_store_rows(Element *at, unsigned count, const Element *rows)
{
    const unsigned unit = kiln_span<Element>::unit;
    const unsigned item = kiln_work_item();
    const kiln_span<Element> span = kiln_span_of(at, count);
    Element *base = at - span.begin;
    KILN_UNROLL
    for (unsigned i = 0; i < most; i++) {
        const unsigned nth = item + i * KILN_BLOCK;
        if (nth < span.word_count) {
            Element word[kiln_span<Element>::unit];
            KILN_LOAD_LOCAL(16, word, &rows[(span.word + nth) * unit])
            KILN_STORE_VECTOR(16, base + (span.word + nth) * unit, word)
        }
    }
    if (item < span.head)
        at[item] = rows[span.begin + item];
    if (item < span.tail)
        base[span.end - span.tail + item] = rows[span.end - span.tail + item];
}

#endif
