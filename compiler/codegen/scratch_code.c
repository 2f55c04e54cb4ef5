#include "compiler/codegen/scratch_code.h"

#include <string.h>

/* A word matches when its bits under the mask are these. */
struct encoding {
    uint32_t mask;
    uint32_t bits;
};

/* First words of instructions, from the ISA manuals' chapters on microcode formats. */
struct generation {
    const char *processors; /* how their names begin */
    /* FLAT with another segment than global (flat, scratch), MUBUF, MTBUF. */
    struct encoding scratch[3];
    struct encoding global; /* FLAT with the segment global */
    /* MUBUF that writes back or invalidates caches, as barriers do, and accesses nothing. */
    struct encoding caches[2];
};

/* Matches no word. */
#define NEVER {0, 1}

static const struct generation generations[] = {
    {"gfx9",
     {{0xfc008000, 0xdc000000}, {0xfc000000, 0xe0000000}, {0xfc000000, 0xe8000000}},
     {0xfc00c000, 0xdc008000},
     {{0xfff80000, 0xe0f80000}, {0xfff80000, 0xe0a00000}}},
    {"gfx10",
     {{0xfc008000, 0xdc000000}, {0xfc000000, 0xe0000000}, {0xfc000000, 0xe8000000}},
     {0xfc00c000, 0xdc008000},
     {{0xfffc0000, 0xe1c40000}, {0xfffc0000, 0xe1c80000}}},
    {"gfx11",
     {{0xfc020000, 0xdc000000}, {0xfc000000, 0xe0000000}, {0xfc000000, 0xe8000000}},
     {0xfc030000, 0xdc020000},
     {{0xfffc0000, 0xe0ac0000}, {0xfffc0000, 0xe0b00000}}},
    /* VFLAT: flat and scratch, VBUFFER. */
    {"gfx12",
     {{0xff000000, 0xec000000}, {0xff000000, 0xed000000}, {0xfc000000, 0xc4000000}},
     {0xff000000, 0xee000000},
     {NEVER, NEVER}},
};

static bool matches(uint32_t word, struct encoding encoding)
{
    return (word & encoding.mask) == encoding.bits;
}

/* True if the word after this one belongs to the same instruction, of the kinds whose second word
 * often looks like the first of another: global accesses with their registers, and constants behind
 * VOP1, VOP2, VOPC, SOP1, SOP2 and SOPC. */
static bool is_continued(uint32_t word, const struct generation *generation)
{
    enum { LITERAL = 255 };
    if (matches(word, generation->global))
        return true;
    if (word >> 31 == 0)
        return (word & 0x1ff) == LITERAL;
    return word >> 30 == 2 && ((word & 0xff) == LITERAL || ((word >> 8) & 0xff) == LITERAL);
}

static const struct generation *find_generation(const struct kiln_target *target)
{
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        size_t length = strlen(generations[i].processors);
        /* Two more digits: "gfx9" is the beginning of gfx90a, and "gfx10" of gfx1030. */
        if (strncmp(target->processor, generations[i].processors, length) == 0 &&
            strlen(target->processor) == length + 2)
            return &generations[i];
    }
    return NULL;
}

bool kiln_code_may_touch_scratch(const struct kiln_target *target, const void *code, size_t size)
{
    const struct generation *generation = find_generation(target);
    if (generation == NULL)
        return true;
    const unsigned char *bytes = code;
    bool continued = false;
    for (size_t at = 0; at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        bool is_of_caches =
            matches(word, generation->caches[0]) || matches(word, generation->caches[1]);
        for (size_t i = 0; !continued && !is_of_caches && i < 3; i++) {
            if (matches(word, generation->scratch[i]))
                return true;
        }
        continued = !continued && is_continued(word, generation);
    }
    return false;
}
