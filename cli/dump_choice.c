#include "cli/dump_choice.h"

#include <string.h>

static const char *const names[] = {
#define KILN_DUMP(name, word, text) word,
#include "compiler/dump.def"
};

const char *kiln_dump_choice_name(size_t index)
{
    return index < KILN_DUMP_COUNT ? names[index] : NULL;
}

/* The bit of a stage; 0 if there is none of this name. */
static uint32_t find_stage(const char *name, size_t length)
{
    for (uint32_t i = 0; i < KILN_DUMP_COUNT; i++) {
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return UINT32_C(1) << i;
    }
    return 0;
}

void kiln_dump_choice_take(struct kiln_command_line *line, uint32_t *stages)
{
    for (const char *name = line->value; name != NULL;) {
        size_t length = strcspn(name, ",");
        uint32_t stage = find_stage(name, length);
        if (stage == 0) {
            struct kiln_buffer hint;
            kiln_buffer_init(&hint);
            for (size_t i = 0; i < KILN_DUMP_COUNT; i++)
                kiln_buffer_printf(&hint, "%s%s", i == 0 ? "stages are " : ", ", names[i]);
            kiln_command_line_fail(line, kiln_buffer_text(&hint),
                                   "option '--dump' knows no stage '%.*s'", (int)length, name);
            kiln_buffer_fini(&hint);
            return;
        }
        *stages |= stage;
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
}
