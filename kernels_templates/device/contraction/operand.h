/*
 * Loads of an operand for the packs of its tile. The functions locate a tile and advance to the next one. They keep the offsets
 * that are the same in all tiles of k, load along k or along rows, handle the end of k, and build the pack of a row.
 *
 * KILN_OPERAND(left, LEFT, convert) defines these functions of the operand `left`. Its facts are kiln_map_<number> of each access and
 *   KILN_LEFT_RUN, _IS_ALONG_K, _PIECES   as contraction.hip says
 *   KILN_LEFT_VECTOR                      elements along k that a load takes, if memory runs along k
 *   KILN_LEFT_ACCESSES(use)               use(left, number, type, form) for each access: access.h
 *   KILN_LEFT_PACKING(use)                use(left, LEFT, part, how, number, type) for each part of the tile: how elements become a pack
 *     COPIED      the elements of access `number`, all of a row's together
 *     TAKEN       the same, where several rows are loaded together
 *     REPEATED    the same, where elements of a row or of a column share one
 *     HALVES      fp8 of access `number`, as halves
 *     COMPUTED    kiln_left_element_<part> of the elements of KILN_LEFT_INPUTS_<part>(use): use(left, LEFT, number, form). form is
 *                 ELEMENTS, or for int8 that is converted a row at a time FLOATS, or FLOATS_OF_RUN where several rows are loaded together,
 *                 or CODES for packed elements that stay packed until they are used (block_operand.h)
 *     TABLED      the same, for codes of 4 bits that are looked up (code_table.h)
 */
#ifndef KILN_DEVICE_CONTRACTION_OPERAND_H
#define KILN_DEVICE_CONTRACTION_OPERAND_H

#include "device/contraction/access.h"
#include "device/contraction/neighbours.h"

/* How an access is loaded for a pack. */
struct kiln_loads {
    unsigned steps;    /* along k */
    unsigned k_step;   /* elements that a load takes along k */
    unsigned rows;     /* of a run, unless all of them share an element */
    unsigned row_step; /* rows that a load takes */
    unsigned kept;     /* offsets that are kept through all tiles of k; 0 if each row has its own */
    unsigned count;    /* elements */
    bool varies_along_k;
};

/* The most offsets that are kept: each is a register. */
#define KILN_KEPT_OFFSETS 4u

KILN_CONSTEXPR kiln_loads kiln_loads_of(const kiln_map &map, unsigned run, bool is_along_k,
                                        unsigned vector, unsigned elements)
{
    kiln_loads loads = {};
    loads.varies_along_k = !kiln_is_zero(map.column);
    loads.k_step = is_along_k && map.is_vector ? vector : 1;
    loads.steps = loads.varies_along_k ? elements / loads.k_step : 1;
    loads.rows = kiln_is_zero(map.row) ? 1 : run;
    loads.row_step = !is_along_k && map.is_vector ? run : 1;
    loads.count = loads.rows * (loads.varies_along_k ? elements : 1);
    /* Steps of a known size are in the loads themselves. */
#ifdef KILN_IS_STREAMED /* steps on their way take the registers */
    const bool keeps_steps = false;
#else
    const bool keeps_steps = map.column.argument != nullptr;
#endif
    loads.kept = loads.rows != loads.row_step          ? 0
                 : !keeps_steps                        ? 1
                 : loads.steps < KILN_KEPT_OFFSETS     ? loads.steps
                                                       : KILN_KEPT_OFFSETS;
    return loads;
}

/* Index of element e of row r among the elements that an access has loaded for a run. */
KILN_DEVICE unsigned kiln_loaded_element(const kiln_loads &loads, unsigned r, unsigned e)
{
    return (loads.varies_along_k ? e * loads.rows : 0) + (loads.rows > 1 ? r : 0);
}

KILN_DEVICE void kiln_locate_loads(const kiln_arguments &arguments, const kiln_map &map,
                                   const kiln_loads &loads, unsigned element_bytes, unsigned row,
                                   unsigned k, kiln_offset *at)
{
    KILN_UNROLL
    for (unsigned j = 0; j < loads.kept; j++)
        at[j] = element_bytes * kiln_offset_in_tile(arguments, map, row, k + j * loads.k_step);
}

KILN_DEVICE void kiln_keep_loads(const kiln_loads &loads, kiln_offset *at)
{
    KILN_UNROLL
    for (unsigned j = 0; j < loads.kept; j++)
        kiln_keep_offset(at[j]);
}

/* A pack that lies within k. Each address is a pointer that all lanes share and an offset in bytes, the form that loads have. Steps
 * along k are in the offsets if those are kept, otherwise in the pointer. */
template <class Element>
KILN_DEVICE void kiln_load_whole(const kiln_arguments &arguments, const kiln_map &map,
                                 const kiln_loads &loads, const Element *source,
                                 const kiln_offset *kept, unsigned row, unsigned k, Element *to)
{
    KILN_UNROLL
    for (unsigned j = 0; j < loads.steps; j++) {
        const char *from = (const char *)source;
        kiln_offset offset = 0;
        if (loads.kept > 1) {
            offset = kept[j % KILN_KEPT_OFFSETS];
            if (j >= KILN_KEPT_OFFSETS) {
                offset += sizeof(Element) *
                          kiln_offset_in_tile(arguments, map, 0, j / KILN_KEPT_OFFSETS *
                                                                     KILN_KEPT_OFFSETS *
                                                                     loads.k_step);
                kiln_keep_offset(offset);
            }
        } else {
            from = (const char *)(source +
                                  kiln_offset_along(arguments, map.column, j * loads.k_step));
            if (loads.kept == 1)
                offset = kept[0];
        }
        KILN_UNROLL
        for (unsigned r = 0; r < loads.rows; r += loads.row_step) {
            if (loads.kept == 0)
                offset = (kiln_offset)sizeof(Element) *
                         kiln_offset_in_tile(arguments, map, row + r, k);
            kiln_load_neighbours(loads.k_step * loads.row_step, (const Element *)(from + offset),
                                 to + j * loads.k_step * loads.rows + r);
        }
    }
}

/* Loads a pack that contains the end of k. Elements beyond the end read the tile's first element. */
template <class Element>
KILN_DEVICE void kiln_load_end(const kiln_arguments &arguments, const kiln_map &map,
                               const kiln_loads &loads, const Element *source, unsigned row,
                               unsigned k, unsigned rest, Element *to)
{
    KILN_UNROLL
    for (unsigned j = 0; j < loads.steps * loads.k_step; j++) {
        KILN_UNROLL
        for (unsigned r = 0; r < loads.rows; r += loads.row_step) {
            const kiln_offset offset =
                (kiln_offset)sizeof(Element) *
                kiln_offset_in_tile(arguments, map, row + r, KILN_K_WITHIN(k + j, rest));
            kiln_load_neighbours(loads.row_step,
                                 (const Element *)((const char *)source + offset),
                                 to + j * loads.rows + r);
        }
    }
}

template <class Element>
KILN_DEVICE void kiln_load_access(const kiln_arguments &arguments, const kiln_map &map,
                                  const kiln_loads &loads, const Element *source,
                                  const kiln_offset *kept, unsigned row, unsigned k, unsigned rest,
                                  Element *to)
{
#ifdef KILN_CONSUMERS
    /* Without a branch for each pack where that saves no loads: after one, NVRTC waits for its loads. */
    const bool saves_loads = loads.k_step * loads.row_step > 1;
#else
    const bool saves_loads = true;
#endif
    if (rest == KILN_WHOLE_K || (saves_loads && k + KILN_PACK_ELEMENTS <= rest))
        kiln_load_whole(arguments, map, loads, source, kept, row, k, to);
    else
        kiln_load_end(arguments, map, loads, source, row, k, rest, to);
}

/* ---- an access of an operand, by its form ---- */

#define KILN_LOADS(side, n, type, form) KILN_LOADS_##form(side, n)
#define KILN_ELEMENTS(side, n, type, form) kiln_storage_##type x##n[kiln_##side##_loads_##n.count];
#define KILN_OFFSETS(side, n, type, form) KILN_OFFSETS_##form(side, n)
#define KILN_LOCATE(side, n, type, form) KILN_LOCATE_##form(side, n, type)
#define KILN_KEEP(side, n, type, form) KILN_KEEP_##form(side, n)
#define KILN_LOAD(side, n, type, form) KILN_LOAD_##form(side, n)

#define KILN_LOADS_PLAIN(side, n)                                                                  \
    KILN_FACT kiln_loads kiln_##side##_loads_##n =                                                 \
        kiln_loads_of(kiln_map_##n, kiln_##side##_run, kiln_##side##_is_along_k,                   \
                      kiln_##side##_vector, kiln_##side##_loaded);
#define KILN_OFFSETS_PLAIN(side, n)                                                                \
    kiln_offset at##n[kiln_##side##_loads_##n.kept > 0 ? kiln_##side##_loads_##n.kept : 1];
#define KILN_LOCATE_PLAIN(side, n, type)                                                           \
    kiln_locate_loads(arguments, kiln_map_##n, kiln_##side##_loads_##n,                            \
                      (unsigned)sizeof(kiln_storage_##type), row, k, lane.at##n);
#define KILN_KEEP_PLAIN(side, n) kiln_keep_loads(kiln_##side##_loads_##n, lane.at##n);
#define KILN_LOAD_PLAIN(side, n)                                                                   \
    kiln_load_access(arguments, kiln_map_##n, kiln_##side##_loads_##n, source.p##n, lane.at##n,    \
                     row, k, rest, inputs.x##n);

#define KILN_LOADS_SCALAR(side, n) KILN_FACT kiln_loads kiln_##side##_loads_##n = {1, 1, 1, 1, 0, 1, false};
#define KILN_OFFSETS_SCALAR(side, n)
#define KILN_LOCATE_SCALAR(side, n, type)
#define KILN_KEEP_SCALAR(side, n)
#define KILN_LOAD_SCALAR(side, n) inputs.x##n[0] = arguments.a##n;

/* ---- a part of its tile, by how elements become a pack ---- */

#define KILN_PACK_PART(side, SIDE, number, how, n, type)                                           \
    if (part == number) {                                                                          \
        KILN_PACK_##how(side, SIDE, number, n, type)                                               \
    }
/* As one: of 16 bytes that are taken apart LLVM 19 loads some twice. */
#define KILN_PACK_COPIED(side, SIDE, number, n, type)                                              \
    __builtin_memcpy(out, inputs.x##n + first, sizeof inputs.x##n / kiln_##side##_lane_run);
#define KILN_PACK_TAKEN(side, SIDE, number, n, type)                                               \
    kiln_take_row<KILN_##SIDE##_RUN>(inputs.x##n, r, out);
#define KILN_PACK_REPEATED(side, SIDE, number, n, type)                                            \
    KILN_UNROLL                                                                                    \
    for (unsigned e = 0; e < kiln_##side##_elements; e++)                                          \
        out[e] = inputs.x##n[kiln_loaded_element(kiln_##side##_loads_##n, r, first + e)];
#define KILN_PACK_HALVES(side, SIDE, number, n, type)                                              \
    KILN_UNROLL                                                                                    \
    for (unsigned at = 0; at < kiln_##side##_elements; at += 4) {                                  \
        kiln_storage_##type four[4];                                                               \
        KILN_UNROLL                                                                                \
        for (unsigned e = 0; e < 4; e++)                                                           \
            four[e] =                                                                              \
                inputs.x##n[kiln_loaded_element(kiln_##side##_loads_##n, r, first + at + e)];      \
        kiln_##type##_as_f16(four, out + at);                                                      \
    }
#define KILN_PACK_COMPUTED(side, SIDE, number, n, type)                                            \
    KILN_##SIDE##_INPUTS_##number(KILN_PREPARE)                                                    \
    KILN_UNROLL                                                                                    \
    for (unsigned e = 0; e < kiln_##side##_elements; e++)                                          \
        kiln_##side##_element_##number(out[e] KILN_##SIDE##_INPUTS_##number(KILN_INPUT_ELEMENT));  \
    kiln_pair_rounded(out);

#define KILN_PREPARE(side, SIDE, n, form) KILN_PREPARE_##form(side, SIDE, n)
#define KILN_PREPARE_ELEMENTS(side, SIDE, n)
#define KILN_PREPARE_FLOATS(side, SIDE, n)                                                         \
    float floats##n[kiln_##side##_loaded];                                                         \
    kiln_i8_as_f32(inputs.x##n, floats##n);
#define KILN_PREPARE_FLOATS_OF_RUN(side, SIDE, n)                                                  \
    kiln_storage_i8 row##n[kiln_##side##_elements];                                                \
    float floats##n[kiln_##side##_elements];                                                       \
    kiln_take_row<KILN_##SIDE##_RUN>(inputs.x##n, r, row##n);                                      \
    kiln_i8_as_f32(row##n, floats##n);
#define KILN_INPUT_ELEMENT(side, SIDE, n, form) , KILN_INPUT_##form(side, n)
#define KILN_INPUT_ELEMENTS(side, n)                                                               \
    inputs.x##n[kiln_loaded_element(kiln_##side##_loads_##n, r, first + e)]
#define KILN_INPUT_FLOATS(side, n)        KILN_INPUT_ELEMENTS(side, n), floats##n[first + e]
#define KILN_INPUT_FLOATS_OF_RUN(side, n) KILN_INPUT_ELEMENTS(side, n), floats##n[e]

/* ---- the operand ---- */

/* device/contraction/split_operand.h and the headers after it add members and steps where an index is decomposed. */
#ifndef KILN_DEVICE_CONTRACTION_SPLIT_OPERAND_H
#define KILN_CORNER
#define KILN_INSIDE
#define KILN_START_SPLIT_OPERAND
#define KILN_ADVANCE_SPLIT_OPERAND
#define KILN_FIND_INSIDE(side, SIDE)
#define KILN_KEEP_INSIDE(SIDE)
#endif
/* device/contraction/inside_rows.h keeps coordinates of rows. */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_ROWS_H
#define KILN_ROW_OF_LANE
#define KILN_LOCATE_ROW(side, SIDE)
#define KILN_KEEP_ROW(SIDE)
#endif

/* Packs are added up as they are. They are multiplied so too, except where device/mma/fnuz.h converts them. */
#define KILN_AS_IT_IS(pack)
#ifndef KILN_DEVICE_MMA_FNUZ_H
#define kiln_make_fnuz(pack)
#endif

#define KILN_OPERAND(side, SIDE, convert) KILN_OPERAND_IN_RUNS(side, SIDE, 1, convert)
/* A lane loads `lane_packs` neighbouring packs along k together. */
#define KILN_OPERAND_IN_RUNS(side, SIDE, lane_packs, convert)                                      \
    enum : unsigned {                                                                              \
        kiln_##side##_run = KILN_##SIDE##_RUN,                                                     \
        kiln_##side##_is_along_k = KILN_##SIDE##_IS_ALONG_K,                                       \
        kiln_##side##_vector = KILN_##SIDE##_VECTOR,                                               \
        kiln_##side##_elements = KILN_PACK_ELEMENTS / KILN_##SIDE##_PIECES,                        \
        kiln_##side##_lane_run = lane_packs,                                                       \
        kiln_##side##_loaded = kiln_##side##_elements * lane_packs                                 \
    };                                                                                             \
    KILN_##SIDE##_ACCESSES(KILN_LOADS)                                                             \
    struct kiln_##side##_source {                                                                  \
        KILN_CORNER                                                                                \
        KILN_##SIDE##_ACCESSES(KILN_POINTER)                                                       \
    };                                                                                             \
    struct kiln_##side##_lane {                                                                    \
        KILN_ROW_OF_LANE                                                                           \
        KILN_##SIDE##_ACCESSES(KILN_OFFSETS)                                                       \
    };                                                                                             \
    struct kiln_##side##_inputs {                                                                  \
        KILN_INSIDE                                                                                \
        KILN_##SIDE##_ACCESSES(KILN_ELEMENTS)                                                      \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &batch, \
                                         unsigned row, kiln_##side##_source &source)               \
    {                                                                                              \
        (void)arguments, (void)batch, (void)row, (void)source;                                     \
        KILN_##SIDE##_ACCESSES(KILN_START)                                                         \
        KILN_START_SPLIT_OPERAND                                                                   \
    }                                                                                              \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_advance(const kiln_arguments &arguments, unsigned k,            \
                                           kiln_##side##_source &source)                           \
    {                                                                                              \
        (void)arguments, (void)k, (void)source;                                                    \
        KILN_##SIDE##_ACCESSES(KILN_ADVANCE)                                                       \
        KILN_ADVANCE_SPLIT_OPERAND                                                                 \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_locate(const kiln_arguments &arguments,                         \
                                          const kiln_##side##_source &source, unsigned row,        \
                                          unsigned k, kiln_##side##_lane &lane)                    \
    {                                                                                              \
        (void)arguments, (void)source, (void)row, (void)k, (void)lane;                             \
        KILN_LOCATE_ROW(side, SIDE)                                                                \
        KILN_##SIDE##_ACCESSES(KILN_LOCATE)                                                        \
    }                                                                                              \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_keep(kiln_##side##_lane &lane)                 \
    {                                                                                              \
        (void)lane;                                                                                \
        KILN_KEEP_ROW(SIDE)                                                                        \
        KILN_##SIDE##_ACCESSES(KILN_KEEP)                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load_at(                                                        \
        const kiln_arguments &arguments, const kiln_##side##_source &source,                       \
        const kiln_##side##_lane &lane, unsigned row, unsigned k, unsigned rest,                   \
        kiln_##side##_inputs &inputs)                                                              \
    {                                                                                              \
        (void)arguments, (void)source, (void)lane, (void)row, (void)k, (void)rest, (void)inputs;   \
        KILN_FIND_INSIDE(side, SIDE)                                                               \
        KILN_##SIDE##_ACCESSES(KILN_LOAD)                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_source &source, unsigned row,          \
                                        unsigned k, unsigned rest, kiln_##side##_inputs &inputs)   \
    {                                                                                              \
        kiln_##side##_lane lane;                                                                   \
        kiln_##side##_locate(arguments, source, row, k, lane);                                     \
        kiln_##side##_load_at(arguments, source, lane, row, k, rest, inputs);                      \
    }                                                                                              \
    /* The pack whose elements are loaded from `first` on. */                                      \
    KILN_DEVICE kiln_pack kiln_##side##_pack_from(                                                 \
        const kiln_arguments &arguments, const kiln_##side##_inputs &inputs, unsigned first,       \
        unsigned part, unsigned r, unsigned k, unsigned rest)                                      \
    {                                                                                              \
        (void)arguments, (void)inputs, (void)first, (void)part, (void)r;                           \
        kiln_element out[KILN_PACK_ELEMENTS];                                                      \
        KILN_UNROLL                                                                                \
        for (unsigned e = kiln_##side##_elements; e < KILN_PACK_ELEMENTS; e++)                     \
            out[e] = 0;                                                                            \
        KILN_##SIDE##_PACKING(KILN_PACK_PART)                                                      \
        kiln_pack pack = kiln_pack_of(out);                                                        \
        KILN_KEEP_INSIDE(SIDE)                                                                     \
        kiln_cut_pack(pack, k, rest);                                                              \
        convert(pack);                                                                             \
        return pack;                                                                               \
    }                                                                                              \
    KILN_DEVICE kiln_pack kiln_##side##_pack(const kiln_arguments &arguments,                      \
                                             const kiln_##side##_inputs &inputs, unsigned part,    \
                                             unsigned r, unsigned k, unsigned rest)                \
    {                                                                                              \
        return kiln_##side##_pack_from(arguments, inputs, 0, part, r, k, rest);                    \
    }

#endif
