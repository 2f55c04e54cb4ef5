#include "cli/program_origin.h"

const char *kiln_program_origin_text(enum kiln_program_origin origin)
{
    switch (origin) {
    case KILN_ORIGIN_MEMORY:
        return "memory";
    case KILN_ORIGIN_DISK:
        return "disk";
    case KILN_ORIGIN_COMPILED:
        break;
    }
    return "compiled";
}
