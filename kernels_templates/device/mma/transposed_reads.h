/*
 * Fragments of MFMA out of tiles that lie the other way round: gfx950's ds_read_b64_tr_b8 and _b16 transpose what they read of LDS.
 *
 * Groups of 16 lanes read 16 rows of KILN_READ_K neighbours along k. A lane addresses 8 bytes: rows of one k. Element e of lane i
 * is element i % N of those that lane e * 16 / N + i / N addressed, N = KILN_READ_K. So lane i gets N of k of row i.
 */
#ifndef KILN_DEVICE_MMA_TRANSPOSED_READS_H
#define KILN_DEVICE_MMA_TRANSPOSED_READS_H

#define KILN_READ_K     ((unsigned)(8 / sizeof(kiln_element)))
#define KILN_READ_LANES (16 / KILN_READ_K) /* with rows of the same k */

/* The first row and the k that a lane addresses of a fragment's first read. */
KILN_DEVICE unsigned kiln_read_row()
{
    return kiln_lane() % KILN_MMA_SIDE / 16 * 16 + kiln_lane() % KILN_READ_LANES * KILN_READ_K;
}

KILN_DEVICE unsigned kiln_read_k()
{
    return kiln_lane() / KILN_MMA_SIDE * KILN_PACK_ELEMENTS + kiln_lane() % 16 / KILN_READ_LANES;
}

/* From there to read number i of a step: two for each pack. */
KILN_DEVICE unsigned kiln_k_of_read(unsigned step, unsigned i)
{
    return (step * KILN_MMA_GROUPS + i / 2 * KILN_MMA_LANES) * KILN_PACK_ELEMENTS + i % 2 * KILN_READ_K;
}

#if defined(__gfx950__)
KILN_DEVICE void kiln_read_transposed(const void *from, unsigned *words)
{
    if (sizeof(kiln_element) == 1) {
        typedef int two __attribute__((ext_vector_type(2)));
        const two read = __builtin_amdgcn_ds_read_tr8_b64_v2i32((__attribute__((address_space(3))) two *)from);
        __builtin_memcpy(words, &read, sizeof read);
    } else {
        typedef short four __attribute__((ext_vector_type(4)));
        const four read = __builtin_amdgcn_ds_read_tr16_b64_v4i16((__attribute__((address_space(3))) four *)from);
        __builtin_memcpy(words, &read, sizeof read);
    }
}
#endif

/*
 * Attention: the rows of a right tile are the k of the second product, in the order of kiln_chain_place. It keeps bits apart, so
 * that what depends on the lane is a place of its own.
 */
#define KILN_MMA_READS_TRANSPOSED 1
KILN_DEVICE void kiln_load_right_transposed(kiln_fragment &fragment, const kiln_pack *tile,
                                            unsigned row, unsigned step, unsigned shape)
{
    row += kiln_read_row();
    const unsigned start =
        kiln_pack_place(kiln_chain_place(kiln_read_k()), row / KILN_PACK_ELEMENTS, shape);
    KILN_UNROLL
    for (unsigned i = 0; i < 2 * KILN_MMA_PACKS; i++) {
        const unsigned more = kiln_chain_place(kiln_k_of_read(step, i));
        const kiln_pack *pack = tile + kiln_pack_place_beyond(start, more, 0, shape);
        kiln_read_transposed(pack->words + row % KILN_PACK_ELEMENTS / KILN_READ_K * 2,
                             fragment.words[i / 2].words + i % 2 * 2);
    }
}

#endif
