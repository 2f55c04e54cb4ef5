/*
 * Environment variables that are not as they should be: the plugin tells of them once, and
 * `kiln doctor` lists them.
 */
#ifndef KILN_RUNTIME_ENGINE_SETTINGS_CHECK_H
#define KILN_RUNTIME_ENGINE_SETTINGS_CHECK_H

#include "compiler/codegen/target.h"
#include "runtime/support/error.h"

#include <stdbool.h>

/* Receives one finding: the variable's name and the sentence, with "\nhint: ..." where there is
 * one. Both are valid during the call. */
typedef void (*kiln_settings_report)(void *context, const char *variable, const char *sentence);

/*
 * Reports every KILN_* variable that looks like a mistyped one, and those that name a device, a
 * program, a library or a directory for output that is not there or cannot be used. Looks at names
 * and files only: nothing is opened, loaded, started or left behind. Layers of the cache and
 * numbers are not looked at: their readers give a notice (runtime/support/notice.h).
 */
void kiln_settings_check(kiln_settings_report report, void *context);

/* Reports the mistyped ones alone, for commands that say of a wrong value what it means for them.
 */
void kiln_settings_check_names(kiln_settings_report report, void *context);

/* Gives a notice of each finding, in the first call of the process. */
void kiln_settings_check_once(void);

/*
 * Gives a notice with the reason why nothing compiles for the target, if a variable names what
 * failed: the worker without `has_worker`, otherwise a compiler for targets of this kind. No
 * notice is given if no such variable is set, or if kiln_settings_check reports it.
 */
void kiln_settings_blame(const struct kiln_target *target, bool has_worker,
                         const struct kiln_error *reason);

#endif
