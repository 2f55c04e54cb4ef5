#include "compiler/schedule/alternatives.h"

#include <string.h>

void kiln_alternatives_add(struct kiln_alternatives *alternatives,
                           const struct kiln_alternative *alternative)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < alternatives->count; i++) {
        if (strcmp(alternatives->items[i].what, alternative->what) == 0)
            return;
        place += alternatives->items[i].time_ns <= alternative->time_ns;
    }
    if (place == KILN_MAX_ALTERNATIVES)
        return;
    uint32_t last = alternatives->count < KILN_MAX_ALTERNATIVES ? alternatives->count++
                                                                : KILN_MAX_ALTERNATIVES - 1;
    for (uint32_t i = last; i > place; i--)
        alternatives->items[i] = alternatives->items[i - 1];
    alternatives->items[place] = *alternative;
}
