/*
 * The stages of lowering to print (dump.def), and the buffer that takes them.
 */
#ifndef KILN_COMPILER_DUMP_H
#define KILN_COMPILER_DUMP_H

#include "runtime/support/buffer.h"

#include <stdint.h>

enum kiln_dump_number {
#define KILN_DUMP(name, word, text) KILN_DUMP_NUMBER_##name,
#include "compiler/dump.def"
    KILN_DUMP_COUNT
};
enum kiln_dump_stage {
#define KILN_DUMP(name, word, text) KILN_DUMP_##name = 1 << KILN_DUMP_NUMBER_##name,
#include "compiler/dump.def"
};

struct kiln_dump {
    uint32_t stages; /* set of enum kiln_dump_stage */
    struct kiln_buffer *text;
};

#endif
