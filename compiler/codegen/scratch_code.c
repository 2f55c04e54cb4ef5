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
    /* FLAT with another segment than global (flat, scratch), and stores of MUBUF where LLVM reaches
     * private memory by it. */
    struct encoding scratch[2];
    struct encoding global; /* FLAT with the segment global */
};

/* Matches no word. */
#define NEVER {0, 1}

/* BUFFER_STORE_BYTE to BUFFER_STORE_DWORDX4. */
#define BUFFER_STORES {0xffe00000, 0xe0600000}

static const struct generation generations[] = {
    {"gfx9", {{0xfc008000, 0xdc000000}, BUFFER_STORES}, {0xfc00c000, 0xdc008000}},
    {"gfx10", {{0xfc008000, 0xdc000000}, BUFFER_STORES}, {0xfc00c000, 0xdc008000}},
    {"gfx11", {{0xfc020000, 0xdc000000}, NEVER}, {0xfc030000, 0xdc020000}},
    /* VFLAT: flat and scratch. */
    {"gfx12", {{0xff000000, 0xec000000}, {0xff000000, 0xed000000}}, {0xff000000, 0xee000000}},
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
        if (!continued &&
            (matches(word, generation->scratch[0]) || matches(word, generation->scratch[1])))
            return true;
        continued = !continued && is_continued(word, generation);
    }
    return false;
}
