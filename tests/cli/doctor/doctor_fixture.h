/* Findings of `kiln doctor`, for tests of its checks. */
#ifndef KILN_TESTS_CLI_DOCTOR_DOCTOR_FIXTURE_H
#define KILN_TESTS_CLI_DOCTOR_DOCTOR_FIXTURE_H

#include "cli/doctor/doctor.h"

/* Expects that a finding of this name and state has `part` in its text or remedy. */
void doctor_expect(const json_t *findings, const char *name, enum kiln_doctor_state state,
                   const char *part);
/* Runs a check in this process, with no facts but one; returns its findings. `fact` may be NULL. */
const json_t *doctor_findings(void (*check)(struct kiln_doctor *doctor), const char *fact,
                              const char *value);
/* The fact that this check found out; NULL if it did not. */
const char *doctor_fact(const char *name);

#endif
