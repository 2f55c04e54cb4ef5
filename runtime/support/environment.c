#include "runtime/support/environment.h"

#include "runtime/support/notice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

static const struct kiln_environment_info variables[] = {
#define KILN_ENVIRONMENT(name, default_text, text) {#name, default_text, text},
#include "runtime/support/environment.def"
};

const struct kiln_environment_info *kiln_environment_info(enum kiln_environment_variable variable)
{
    assert((unsigned)variable < KILN_ENVIRONMENT_COUNT);
    return &variables[variable];
}

const char *kiln_environment_text(enum kiln_environment_variable variable)
{
    return secure_getenv(kiln_environment_info(variable)->name);
}

bool kiln_environment_is_on(const char *name)
{
    static const char *const words[] = {"1",       "true",     "yes",   "on", "enable",
                                        "enabled", "0",        "false", "no", "off",
                                        "disable", "disabled", ""};
    enum { AFFIRMATIVES = 6 };
    const char *text = secure_getenv(name);
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(text, words[i]) == 0)
            return i < AFFIRMATIVES;
    }
    if (text != NULL)
        kiln_notice("environment variable '%s' is '%.64s', neither on nor off; it counts as off\n"
                    "hint: 1 or 0",
                    name, text);
    return false;
}

bool kiln_environment_flag(enum kiln_environment_variable variable)
{
    return kiln_environment_is_on(kiln_environment_info(variable)->name);
}

/* strtoull accepts signs, blanks and prefixes; a setting that is not plain digits is a mistake. */
static bool parse_decimal(const char *text, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (const char *digit = text; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number))
            return false;
    }
    *ret_number = number;
    return *text != '\0';
}

uint64_t kiln_environment_number(enum kiln_environment_variable variable, uint64_t low,
                                 uint64_t high, uint64_t fallback)
{
    const char *text = kiln_environment_text(variable);
    if (text == NULL || *text == '\0')
        return fallback;
    uint64_t number;
    if (parse_decimal(text, &number) && number >= low && number <= high)
        return number;
    kiln_notice("environment variable '%s' is '%s', not a number from %" PRIu64 " to %" PRIu64
                "; using %" PRIu64,
                kiln_environment_info(variable)->name, text, low, high, fallback);
    return fallback;
}
