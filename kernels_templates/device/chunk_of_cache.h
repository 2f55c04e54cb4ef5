/*
 * The piece of work that a work-group takes if CACHES caches share out work-groups in turns: those of one cache take pieces that
 * follow each other. The first caches have one piece more where CACHES does not divide the number of pieces.
 */
#ifndef KILN_DEVICE_CHUNK_OF_CACHE_H
#define KILN_DEVICE_CHUNK_OF_CACHE_H

template <unsigned CACHES, typename number>
KILN_DEVICE number kiln_chunk_of_cache(number turn, number chunks)
{
    const number cache = turn % CACHES;
    const number longer = chunks % CACHES;
    return cache * (chunks / CACHES) + (cache < longer ? cache : longer) + turn / CACHES;
}

#endif
