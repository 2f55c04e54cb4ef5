/*
 * Reductions over rows with the elementwise work before, between and after them. A work-group has KILN_ITEMS_ALONG_REDUCED x
 * KILN_ITEMS_ALONG_KEPT work-items. Each walks over its steps of a row, once per pass, and accumulates. Then the work-items of a
 * row merge their accumulators: by exchange within a wave, through local memory between waves.
 *
 *   rows      a step is a vector along the row; neighbouring work-items share the row. Either the last vector is moved back
 *             to where it is whole, and elements that two vectors have count once, or the elements that fill no vector (the
 *             "tails") are shared out to the work-items one by one.
 *   columns   a step is an element of each of KILN_VECTOR neighbouring rows; neighbouring work-items have neighbouring rows.
 *             The last vector of rows is moved back to where it is whole, so some rows are done twice, with equal results.
 *
 * The order of all merges depends only on the schedule.
 *
 * The prelude defines these constants:
 *   KILN_SYMBOL, KILN_BLOCK, KILN_CHUNKS, KILN_VECTOR
 *   KILN_HAS_TURNS, KILN_GRID                true if there are fewer work-groups than chunks; their number
 *   KILN_SIZES_ARE_ARGUMENTS                 KILN_CHUNKS, KILN_KEPT, KILN_STEPS, KILN_TAILS, KILN_CHAINS and all else that
 *                                            depends on a size are members of `arguments`: one kernel serves many sizes
 *   KILN_CHUNK(turn)                         number of the next chunk
 *   KILN_IS_COLUMNS, KILN_ITEMS_ALONG_REDUCED, KILN_ITEMS_ALONG_KEPT
 *   KILN_KEPT                                number of rows; in `columns`, of vectors of rows
 *   KILN_STEPS, KILN_HAS_TAILS, KILN_TAILS   of a row
 *   KILN_ARE_SKEWED                          true if the numbers of steps and tails depend on the row, since vectors start where
 *                                            those of memory do: they follow from share.position, and tails lie at both ends
 *   KILN_IS_SEGMENTED, KILN_SEGMENTS         true if work-groups share a row; the number of them
 *   KILN_GROUPS_OF_ROW                       work-groups of a cluster that share a row and merge (device/cluster.h): its segments
 *   KILN_SEGMENTS_TAKE_TURNS                 as the work-items of a row do; otherwise each has a stretch of it
 *   KILN_SEGMENT_STEPS, KILN_SEGMENT_TAILS   from the first of a segment to the first of the next
 *   KILN_STRIDE, KILN_OVER_STRIDE(n)         from a work-item's step to its next, and likewise of tails; n divided by it
 *   KILN_STEPS_PER_ITEM, KILN_IS_RESIDENT    steps loaded at once; true if these are all the steps of a work-item
 *   KILN_STEPS_OF_LATER_PASS                 of these the steps that a pass after the first loads at once
 *   KILN_HAS_LOCAL_ROWS                      true if a work-group copies its rows to local memory (device/local_rows.h)
 *   KILN_ROW_SPACING                         rows between those of neighbouring work-items: then they use other banks
 *   KILN_RESULTS_REPLACE_OPERANDS            true if results lie there where operands did
 *   KILN_CHECKS_FULL                         true if rows with exactly that many steps run without conditions
 *   KILN_RESIDENT_TAILS                      tails loaded at once; 0: every pass loads tails one by one
 *   KILN_CHAINS, KILN_CHAIN_STEPS            number of chains that a work-item's steps (and tails) are cut into; length of each.
 *                                            Each chain has fresh accumulators, since the error of floating-point sums and
 *                                            means grows with the number of elements in one
 *   KILN_HAS_CHAINS                          true if there is more than one
 *   KILN_SHUFFLES, KILN_FIRST_SHUFFLE        number of exchanges that merge a row within a wave: between lanes that differ by
 *                                            KILN_FIRST_SHUFFLE, then by twice as much and so on
 *   KILN_WAVES_PER_ROW                       number of accumulators left after that
 *   KILN_PASSES(run)                         run(0) run(1) ...
 * It also defines these types and functions:
 *   kiln_index, kiln_arguments, kiln_position, kiln_locate_row, kiln_locate_step, kiln_locate_tail, kiln_inputs, kiln_shared
 *   kiln_locate_chunk                        if rows are segmented
 *   kiln_row, kiln_start_row                 values that are the same in all of a row
 *   kiln_inputs_element                      with tails
 *   kiln_local, kiln_fetch_rows, kiln_find_row, kiln_return_rows      with rows in local memory
 * Each pass has a structure kiln_pass_<n> of functions:
 *   lanes, start                             accumulators of a work-item, one per element of the vector
 *   load, update                             load a step; accumulate it, nth counting the steps before it, and store
 *   merged                                   accumulators of all elements of the vector (in `columns`: of a row each)
 *   load_element, update_element             the same for a tail
 * A pass with accumulators also has:
 *   fold                                     lanes to merged
 *   shuffle, put, get, merge                 exchange between work-items
 *   finish                                   computes the row's values from the merged accumulators
 */
#ifndef KILN_SYMBOL
#include "default/reduction_prelude.h"
#endif

#if !KILN_IS_COLUMNS && KILN_WAVES_PER_ROW > KILN_WAVE_SIZE
#error "the lanes of a wave merge what the waves of a row have left"
#endif

#if KILN_GROUPS_OF_ROW > 1 && KILN_WAVES_PER_ROW == 1
#error "work-groups of a cluster merge after their waves, and read local memory that these share"
#endif

/* All work-items have the same number of steps, and whole turns of them. */
#if KILN_SIZES_ARE_ARGUMENTS
#define KILN_ARE_ROWS_WHOLE (KILN_ITEMS_ALONG_KEPT == 1)
#else
#define KILN_ARE_ROWS_WHOLE (KILN_KEPT % KILN_ITEMS_ALONG_KEPT == 0)
#endif
#if KILN_SIZES_ARE_ARGUMENTS || KILN_ARE_SKEWED
#define KILN_ARE_EVEN 0
#else
#define KILN_ARE_EVEN                                                                              \
    (!KILN_HAS_CHAINS && KILN_STEPS > 0 &&                                                         \
     KILN_STEPS % (KILN_SEGMENTS * KILN_ITEMS_ALONG_REDUCED * KILN_STEPS_PER_ITEM) == 0)
#endif

/* Rows may have all the steps that work-items hold: no condition is needed then, and what is
 * computed of a step in one pass can serve another one. */
#if KILN_CHECKS_FULL
#define KILN_IF_FULL(is_full)  is_full
#define KILN_PASS_SHUFFLE      Pass::template shuffle<is_full>
#define KILN_PASS_MERGE        Pass::template merge<is_full>
#else
#define KILN_IF_FULL(is_full)  false
#define KILN_PASS_SHUFFLE      Pass::shuffle
#define KILN_PASS_MERGE        Pass::merge
#endif

/* A work-item's share. */
struct kiln_share {
    kiln_position position; /* on the kept axes */
    kiln_index step;        /* its first one */
    kiln_index end;         /* not after the segment's */
#if KILN_HAS_TAILS
    kiln_index tail;
    kiln_index end_of_tails;
#endif
    bool is_inside; /* there is such a row */
    bool is_first;  /* of its row */
};

#if KILN_RESIDENT_TAILS > 0
#define KILN_TAILS_AT_ONCE KILN_RESIDENT_TAILS
#else
#define KILN_TAILS_AT_ONCE 1
#endif
/* Skewed rows have more tails, and load them before the vectors, so that both are in flight at once. */
#define KILN_TAILS_AHEAD (KILN_ARE_SKEWED ? KILN_RESIDENT_TAILS : 0)

/* What is loaded, from pass to pass where it stays. */
struct kiln_held {
    kiln_inputs inputs[KILN_STEPS_PER_ITEM];
#if KILN_HAS_TAILS
    kiln_inputs_element tails[KILN_TAILS_AT_ONCE];
#endif
};

KILN_DEVICE unsigned kiln_place_along_reduced()
{
#if KILN_IS_COLUMNS
    return kiln_work_item() / KILN_ITEMS_ALONG_KEPT;
#else
    return kiln_work_item() % KILN_ITEMS_ALONG_REDUCED;
#endif
}

KILN_DEVICE unsigned kiln_place_along_kept()
{
#if KILN_IS_COLUMNS
    return kiln_work_item() % KILN_ITEMS_ALONG_KEPT;
#else
    const unsigned place = kiln_work_item() / KILN_ITEMS_ALONG_REDUCED;
#if KILN_HAS_LOCAL_ROWS
    const unsigned rounds = KILN_ITEMS_ALONG_KEPT / KILN_ROW_SPACING;
    return place % rounds * KILN_ROW_SPACING + place / rounds;
#else
    return place;
#endif
#endif
}

/* Where a segment's part of the `count` steps or tails of a row ends. */
KILN_DEVICE kiln_index kiln_end_of_segment(kiln_index segment, kiln_index size, kiln_index count)
{
    if (!KILN_IS_SEGMENTED || KILN_SEGMENTS_TAKE_TURNS || (segment + 1) * size > count)
        return count;
    return (segment + 1) * size;
}

/* Neighbouring work-groups get neighbouring memory. */
KILN_DEVICE void kiln_take_share([[maybe_unused]] const kiln_arguments &arguments,
                                 kiln_index chunk, kiln_share &share)
{
    const unsigned place = kiln_place_along_reduced();
    kiln_index tile = chunk;
    kiln_index segment = 0;
#if KILN_IS_SEGMENTED
    kiln_locate_chunk(arguments, chunk, tile, segment);
#elif KILN_GROUPS_OF_ROW > 1
    tile = chunk / KILN_GROUPS_OF_ROW;
    segment = chunk % KILN_GROUPS_OF_ROW;
#endif
    kiln_index kept = tile * KILN_ITEMS_ALONG_KEPT + kiln_place_along_kept();
    share.is_inside = KILN_ARE_ROWS_WHOLE || KILN_HAS_LOCAL_ROWS || kept < KILN_KEPT;
    /* The last row is done again where there is none. The passes then have no condition, and values of one serve the next. */
    if (KILN_HAS_LOCAL_ROWS && !KILN_ARE_ROWS_WHOLE && kept >= KILN_KEPT)
        kept = KILN_KEPT - 1;
    kiln_locate_row(arguments, kept, segment, share.position);
    share.is_first = place == 0 && (KILN_GROUPS_OF_ROW == 1 || segment == 0);
    share.step = segment * KILN_SEGMENT_STEPS + place;
    share.end = kiln_end_of_segment(segment, KILN_SEGMENT_STEPS, KILN_STEPS);
#if KILN_HAS_TAILS
    share.tail = segment * KILN_SEGMENT_TAILS + place;
    share.end_of_tails = kiln_end_of_segment(segment, KILN_SEGMENT_TAILS, KILN_TAILS);
#endif
}

KILN_DEVICE unsigned kiln_count_steps([[maybe_unused]] const kiln_arguments &arguments,
                                      const kiln_share &share)
{
#if KILN_ARE_EVEN
    return share.is_inside ? KILN_STEPS / (KILN_SEGMENTS * KILN_ITEMS_ALONG_REDUCED) : 0;
#else
    if (!share.is_inside || share.step >= share.end)
        return 0;
    return (unsigned)KILN_OVER_STRIDE(share.end - share.step + KILN_STRIDE - 1);
#endif
}

template <class Pass>
KILN_DEVICE void kiln_load_step(const kiln_arguments &arguments, const kiln_share &share,
                                kiln_index step, kiln_inputs &inputs)
{
    kiln_position position = share.position;
    kiln_locate_step(arguments, step, position);
    Pass::load(arguments, position, inputs);
}

template <class Pass>
KILN_DEVICE void kiln_update_step(const kiln_arguments &arguments, const kiln_share &share,
                                  const kiln_row &row, kiln_index step, const kiln_inputs &inputs,
                                  unsigned nth, typename Pass::lanes &lanes)
{
    kiln_position position = share.position;
    kiln_locate_step(arguments, step, position);
    Pass::update(arguments, position, row, inputs, nth, lanes);
}

#if KILN_IS_RESIDENT

template <class Pass, bool is_full>
KILN_DEVICE void kiln_walk(const kiln_arguments &arguments, const kiln_share &share,
                           const kiln_row &row, kiln_inputs (&inputs)[KILN_STEPS_PER_ITEM],
                           typename Pass::lanes &lanes)
{
    const unsigned at_once = Pass::is_first ? KILN_STEPS_PER_ITEM : KILN_STEPS_OF_LATER_PASS;
    KILN_UNROLL
    for (unsigned start = 0; start < KILN_STEPS_PER_ITEM; start += at_once) {
        KILN_UNROLL
        for (unsigned i = start; i < start + at_once && i < KILN_STEPS_PER_ITEM; i++) {
            const kiln_index step = share.step + i * KILN_STRIDE;
            /* Without a condition, loads of several steps are in flight together; where there is no step, the last one's is done
             * again. */
            if (!KILN_SIZES_ARE_ARGUMENTS)
                kiln_load_step<Pass>(arguments, share,
                                     KILN_ARE_EVEN || step < share.end ? step : share.end - 1,
                                     inputs[i]);
            else if (KILN_IF_FULL(is_full) || step < share.end)
                kiln_load_step<Pass>(arguments, share, step, inputs[i]);
        }
        KILN_UNROLL
        for (unsigned i = start; i < start + at_once && i < KILN_STEPS_PER_ITEM; i++) {
            const kiln_index step = share.step + i * KILN_STRIDE;
            if (KILN_ARE_EVEN || KILN_IF_FULL(is_full) || step < share.end)
                kiln_update_step<Pass>(arguments, share, row, step, inputs[i], i, lanes);
        }
    }
}

#else

template <class Pass, bool is_full>
KILN_DEVICE void kiln_walk(const kiln_arguments &arguments, const kiln_share &share,
                           const kiln_row &row, kiln_inputs (&inputs)[KILN_STEPS_PER_ITEM],
                           typename Pass::lanes &lanes)
{
    /* The last of several passes walks back: its first steps are what the caches still hold. */
    const bool is_back = Pass::is_last && !Pass::is_first;
    const unsigned count = kiln_count_steps(arguments, share);
    const kiln_index stride = is_back ? (kiln_index)0 - KILN_STRIDE : KILN_STRIDE;
    kiln_index step = share.step;
    if (is_back && count > 0)
        step += (count - 1) * KILN_STRIDE;
    unsigned nth = 0;
    KILN_NO_UNROLL
    for (; nth + KILN_STEPS_PER_ITEM <= count; nth += KILN_STEPS_PER_ITEM) {
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_STEPS_PER_ITEM; i++)
            kiln_load_step<Pass>(arguments, share, step + i * stride, inputs[i]);
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_STEPS_PER_ITEM; i++)
            kiln_update_step<Pass>(arguments, share, row, step + i * stride, inputs[i], nth + i,
                                   lanes);
        step += KILN_STEPS_PER_ITEM * stride;
    }
#if KILN_STEPS_PER_ITEM > 4 && !KILN_ARE_EVEN
    /* The steps that are left: four at once, two at once. Otherwise each of them would wait for memory. */
    KILN_UNROLL
    for (unsigned size = 4; size > 1; size /= 2) {
        if (((count - nth) & size) != 0) {
            KILN_UNROLL
            for (unsigned i = 0; i < size; i++)
                kiln_load_step<Pass>(arguments, share, step + i * stride, inputs[i]);
            KILN_UNROLL
            for (unsigned i = 0; i < size; i++)
                kiln_update_step<Pass>(arguments, share, row, step + i * stride, inputs[i],
                                       nth + i, lanes);
            nth += size;
            step += size * stride;
        }
    }
#endif
#if KILN_STEPS_PER_ITEM > 1 && !KILN_ARE_EVEN
    KILN_NO_UNROLL
    for (; nth < count; nth++) {
        kiln_load_step<Pass>(arguments, share, step, inputs[0]);
        kiln_update_step<Pass>(arguments, share, row, step, inputs[0], nth, lanes);
        step += stride;
    }
#endif
}

#endif

#if KILN_HAS_TAILS

template <class Pass>
KILN_DEVICE void kiln_load_tail(const kiln_arguments &arguments, const kiln_share &share,
                                kiln_index tail, kiln_inputs_element &inputs)
{
    kiln_position position = share.position;
    kiln_locate_tail(arguments, tail, position);
    Pass::load_element(arguments, position, inputs);
}

template <class Pass>
KILN_DEVICE void
kiln_load_tails_ahead(const kiln_arguments &arguments, const kiln_share &share,
                      kiln_inputs_element (&inputs)[KILN_TAILS_AT_ONCE])
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_TAILS_AHEAD; i++) {
        const kiln_index tail = share.tail + i * KILN_STRIDE;
        if (tail < share.end_of_tails)
            kiln_load_tail<Pass>(arguments, share, tail, inputs[i]);
    }
}

template <class Pass>
KILN_DEVICE void kiln_do_tail(const kiln_arguments &arguments, const kiln_share &share,
                              const kiln_row &row, kiln_index tail, kiln_inputs_element &inputs,
                              typename Pass::merged &merged)
{
    kiln_position position = share.position;
    kiln_locate_tail(arguments, tail, position);
    if (KILN_TAILS_AHEAD == 0)
        Pass::load_element(arguments, position, inputs);
    Pass::update_element(arguments, position, row, inputs, merged);
}

template <class Pass>
KILN_DEVICE void
kiln_walk_tails(const kiln_arguments &arguments, const kiln_share &share, const kiln_row &row,
                kiln_inputs_element (&inputs)[KILN_TAILS_AT_ONCE], typename Pass::merged &merged)
{
#if KILN_RESIDENT_TAILS > 0
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_RESIDENT_TAILS; i++) {
        const kiln_index tail = share.tail + i * KILN_STRIDE;
        if (tail < share.end_of_tails)
            kiln_do_tail<Pass>(arguments, share, row, tail, inputs[i], merged);
    }
#else
    KILN_NO_UNROLL
    for (kiln_index tail = share.tail; tail < share.end_of_tails; tail += KILN_STRIDE)
        kiln_do_tail<Pass>(arguments, share, row, tail, inputs[0], merged);
#endif
}

#endif

#if KILN_GROUPS_OF_ROW > 1

/* Merges the accumulators of a row's work-groups. Each has an entry for the others, after the entries of its waves.
 * kiln_cluster_wait returns when all have read it. */
template <class Pass, bool is_full>
KILN_DEVICE void kiln_merge_groups(kiln_shared &shared, typename Pass::merged &merged)
{
    if (kiln_work_item() == 0)
        Pass::put(merged, KILN_WAVES_PER_ROW, shared);
    kiln_cluster_barrier();
    typename Pass::merged others[KILN_GROUPS_OF_ROW];
    KILN_UNROLL
    for (unsigned group = 0; group < KILN_GROUPS_OF_ROW; group++)
        Pass::get(*kiln_in_group(&shared, group), KILN_WAVES_PER_ROW, others[group]);
    kiln_cluster_arrive();
    /* In pairs, since moments of even rows have as many elements as their twins. */
    KILN_UNROLL
    for (unsigned half = KILN_GROUPS_OF_ROW / 2; half > 0; half /= 2) {
        KILN_UNROLL
        for (unsigned group = 0; group < half; group++)
            KILN_PASS_MERGE(others[group + half], others[group]);
    }
    merged = others[0];
}

#endif

/* Afterwards all work-items of the row have the same, in the last pass perhaps only the first of
 * them. */
template <class Pass, bool is_full>
KILN_DEVICE void kiln_merge_row([[maybe_unused]] kiln_shared &shared, typename Pass::merged &merged)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_SHUFFLES; i++)
        KILN_PASS_SHUFFLE(KILN_FIRST_SHUFFLE << i, merged);
#if KILN_GROUPS_OF_ROW > 1
    if (!Pass::is_first)
        kiln_cluster_wait();
#endif
#if KILN_WAVES_PER_ROW > 1
    /* Nobody may still read what an earlier merge has left. */
    if (!Pass::is_first || KILN_HAS_TURNS)
        kiln_barrier();
#if !KILN_IS_COLUMNS
    const unsigned lane = kiln_work_item() % KILN_WAVE_SIZE;
    const unsigned first = kiln_work_item() / KILN_ITEMS_ALONG_REDUCED * KILN_WAVES_PER_ROW;
    if (lane == 0)
        Pass::put(merged, kiln_work_item() / KILN_WAVE_SIZE, shared);
    kiln_barrier();
    Pass::get(shared, first + lane % KILN_WAVES_PER_ROW, merged);
    KILN_UNROLL
    for (unsigned mask = 1; mask < KILN_WAVES_PER_ROW; mask *= 2)
        KILN_PASS_SHUFFLE(mask, merged);
#else
    const unsigned together = KILN_ITEMS_ALONG_REDUCED / KILN_WAVES_PER_ROW;
    const unsigned wave = kiln_place_along_reduced() / together;
    const bool is_speaker = kiln_place_along_reduced() % together == 0;
    const unsigned place = kiln_place_along_kept();
    typename Pass::merged other;
    /* Rolled, for the time it takes to compile: a turn waits for local memory anyway. */
    KILN_NO_UNROLL
    for (unsigned half = KILN_WAVES_PER_ROW / 2; half > 0; half /= 2) {
        if (half < KILN_WAVES_PER_ROW / 2)
            kiln_barrier();
        if (is_speaker && wave >= half && wave < 2 * half)
            Pass::put(merged, (wave - half) * KILN_ITEMS_ALONG_KEPT + place, shared);
        kiln_barrier();
        if (wave < half) {
            Pass::get(shared, wave * KILN_ITEMS_ALONG_KEPT + place, other);
            KILN_PASS_MERGE(other, merged);
        }
    }
    if (!Pass::is_last) {
        kiln_barrier();
        if (is_speaker && wave == 0)
            Pass::put(merged, place, shared);
        kiln_barrier();
        Pass::get(shared, place, merged);
    }
#endif
#endif
#if KILN_GROUPS_OF_ROW > 1
    kiln_merge_groups<Pass, is_full>(shared, merged);
#endif
}

/* All steps and tails of a share, from new accumulators. */
template <class Pass, bool is_full>
KILN_DEVICE void kiln_walk_share(const kiln_arguments &arguments, const kiln_share &share,
                                 const kiln_row &row, kiln_held &held,
                                 [[maybe_unused]] typename Pass::merged &merged)
{
    typename Pass::lanes lanes;
    Pass::start(lanes);
#if KILN_HAS_TAILS
    if (share.is_inside)
        kiln_load_tails_ahead<Pass>(arguments, share, held.tails);
#endif
    if (share.is_inside)
        kiln_walk<Pass, is_full>(arguments, share, row, held.inputs, lanes);
    if constexpr (Pass::has_accumulators)
        Pass::fold(lanes,
                   KILN_IF_FULL(is_full) ? (unsigned)KILN_STEPS_PER_ITEM
                                         : kiln_count_steps(arguments, share),
                   merged);
#if KILN_HAS_TAILS
    if (share.is_inside)
        kiln_walk_tails<Pass>(arguments, share, row, held.tails, merged);
#endif
}

#if KILN_HAS_CHAINS

KILN_DEVICE kiln_index kiln_end_of_chain(kiln_index start, kiln_index length, kiln_index end)
{
    const kiln_index after = start + length;
    return after < end ? after : end;
}

template <class Pass>
KILN_DEVICE_APART void kiln_walk_chain(const kiln_arguments &arguments, const kiln_share &chain,
                                       const kiln_row &row, kiln_held &held,
                                       typename Pass::merged &merged)
{
    kiln_walk_share<Pass, false>(arguments, chain, row, held, merged);
}

/* The same in chains. */
template <class Pass>
KILN_DEVICE void kiln_walk_chains(const kiln_arguments &arguments, const kiln_share &share,
                                  const kiln_row &row, kiln_held &held,
                                  typename Pass::merged &merged)
{
    typename Pass::lanes lanes;
    Pass::start(lanes);
    Pass::fold(lanes, 0, merged);
    kiln_share chain = share;
    const kiln_index length = KILN_CHAIN_STEPS * KILN_STRIDE;
    KILN_NO_UNROLL
    for (kiln_index i = 0; i < KILN_CHAINS; i++) {
        typename Pass::merged added;
        chain.end = kiln_end_of_chain(chain.step, length, share.end);
#if KILN_HAS_TAILS
        chain.end_of_tails = kiln_end_of_chain(chain.tail, length, share.end_of_tails);
#endif
        kiln_walk_chain<Pass>(arguments, chain, row, held, added);
        Pass::merge(added, merged);
        chain.step += length;
#if KILN_HAS_TAILS
        chain.tail += length;
#endif
    }
}

#endif

template <class Pass, bool is_full>
KILN_DEVICE void kiln_run_pass(const kiln_arguments &arguments, const kiln_share &share,
                               kiln_held &held, [[maybe_unused]] kiln_shared &shared, kiln_row &row)
{
    typename Pass::merged merged;
#if KILN_RESULTS_REPLACE_OPERANDS
    if (Pass::is_last)
        kiln_barrier();
#endif
#if KILN_HAS_CHAINS
    if constexpr (Pass::has_accumulators)
        kiln_walk_chains<Pass>(arguments, share, row, held, merged);
    else
#endif
        kiln_walk_share<Pass, is_full>(arguments, share, row, held, merged);
    if constexpr (Pass::has_accumulators) {
        kiln_merge_row<Pass, is_full>(shared, merged);
        if (share.is_inside && (share.is_first || !Pass::is_last))
            Pass::finish(arguments, share.position, merged, share.is_first, row);
    }
}

#define KILN_RUN_PASS(number)                                                                      \
    kiln_run_pass<kiln_pass_##number, false>(arguments, share, held, shared[0], row);
#define KILN_RUN_FULL_PASS(number)                                                                 \
    kiln_run_pass<kiln_pass_##number, true>(arguments, share, held, shared[0], row);

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
#if KILN_HAS_LOCAL_ROWS
    KILN_LDS(kiln_local, local, 1);
#endif
#if KILN_HAS_LOCAL_ROWS && KILN_WAVES_PER_ROW > 1
    kiln_shared(&shared)[1] = local[0].shared;
#elif KILN_WAVES_PER_ROW > 1
    KILN_LDS(kiln_shared, shared, 1);
#else
    kiln_shared shared[1];
#endif
#if KILN_HAS_TURNS
    for (kiln_index turn = kiln_work_group_x(); turn < KILN_CHUNKS; turn += KILN_GRID)
#else
    const kiln_index turn = kiln_work_group_x();
#endif
    {
        const kiln_index chunk = KILN_CHUNK(turn);
        kiln_share share;
        kiln_take_share(arguments, chunk, share);
#if KILN_HAS_LOCAL_ROWS
        const kiln_index first = chunk * KILN_ITEMS_ALONG_KEPT;
        const unsigned rows =
            KILN_ARE_ROWS_WHOLE || first + KILN_ITEMS_ALONG_KEPT <= KILN_KEPT
                ? KILN_ITEMS_ALONG_KEPT
                : (unsigned)(KILN_KEPT - first);
        kiln_fetch_rows(arguments, first, rows, local[0]);
        const unsigned place = kiln_place_along_kept();
        kiln_find_row(arguments, first, place < rows ? place : rows - 1, local[0], share.position);
        kiln_barrier();
#endif
        kiln_row row;
        if (share.is_inside)
            kiln_start_row(arguments, share.position, share.is_first, row);
        kiln_held held;
#if KILN_CHECKS_FULL
        const bool are_inside = (chunk + 1) * KILN_ITEMS_ALONG_KEPT <= KILN_KEPT;
        if (are_inside && KILN_STEPS == KILN_ITEMS_ALONG_REDUCED * KILN_STEPS_PER_ITEM) {
            share.is_inside = true;
            KILN_PASSES(KILN_RUN_FULL_PASS)
            return;
        }
#endif
        KILN_PASSES(KILN_RUN_PASS)
#if KILN_GROUPS_OF_ROW > 1
        kiln_cluster_wait();
#endif
#if KILN_HAS_LOCAL_ROWS
        kiln_barrier();
        kiln_return_rows(arguments, first, rows, local[0]);
        if (KILN_HAS_TURNS)
            kiln_barrier();
#endif
    }
}
