/*
 * Reading environment variables: every one that Kiln knows has a row in environment.def.
 */
#ifndef KILN_RUNTIME_SUPPORT_ENVIRONMENT_H
#define KILN_RUNTIME_SUPPORT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_environment_variable {
#define KILN_ENVIRONMENT(name, default_text, text) KILN_ENVIRONMENT_##name,
#include "runtime/support/environment.def"
    KILN_ENVIRONMENT_COUNT
};

struct kiln_environment_info {
    const char *name;
    const char *default_text;
    const char *text;
};

const struct kiln_environment_info *kiln_environment_info(enum kiln_environment_variable variable);

/*
 * The value, or NULL when unset. Points into the environment: a later setenv may end its life. In a
 * process that gained privileges (set-user-ID and the like) every variable counts as unset, because
 * some of them name programs and libraries to load.
 */
const char *kiln_environment_text(enum kiln_environment_variable variable);
/* True for "1", "true", "yes", "on", "enable" and "enabled" in any case, hipDNN's words. False for
 * unset, empty, and their opposites; also for other words, with a notice. */
bool kiln_environment_flag(enum kiln_environment_variable variable);
/* The same rule for a variable of any name. */
bool kiln_environment_is_on(const char *name);
/* The number within [low, high]; `fallback` when unset or empty; when malformed
 * or out of range `fallback` with a warning in the log. Decimal digits only. */
uint64_t kiln_environment_number(enum kiln_environment_variable variable, uint64_t low,
                                 uint64_t high, uint64_t fallback);

#endif
