/* The worker and the compilers, and what a machine without them can do. */
#include "tests/cli/doctor/doctor_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void set_up(void)
{
    unsetenv("KILN_CACHE_REMOTE");
    unsetenv("KILN_COMPILE_IN_PROCESS");
    unsetenv("KILN_ENFORCE_PRECOMPILED");
    setenv("KILN_COMPILE_WORKER", "/no/worker", 1);
}

TestSuite(doctor_compilers, .init = set_up, .timeout = 60);

Test(doctor_compilers, a_worker_that_is_missing_or_another_program_is_wrong)
{
    doctor_expect(doctor_findings(kiln_doctor_check_worker, NULL, NULL), "worker",
                  KILN_DOCTOR_WRONG, "no compile worker '/no/worker'");
    setenv("KILN_COMPILE_WORKER", "/bin/true", 1);
    doctor_expect(doctor_findings(kiln_doctor_check_worker, NULL, NULL), "worker",
                  KILN_DOCTOR_WRONG, "cannot start");
    setenv("KILN_COMPILE_IN_PROCESS", "1", 1);
    doctor_expect(doctor_findings(kiln_doctor_check_worker, NULL, NULL), "worker",
                  KILN_DOCTOR_SKIPPED, "in the program itself");
}

Test(doctor_compilers, a_target_without_a_compiler_needs_a_cache)
{
    doctor_expect(doctor_findings(kiln_doctor_check_compilers, KILN_DOCTOR_TARGET, "gfx942"),
                  "target", KILN_DOCTOR_WRONG, "");
    setenv("KILN_CACHE_REMOTE", "redis://127.0.0.1", 1);
    doctor_expect(doctor_findings(kiln_doctor_check_compilers, KILN_DOCTOR_TARGET, "gfx942"),
                  "target", KILN_DOCTOR_WARNING, "");
}

Test(doctor_compilers, nothing_is_compiled_where_that_is_forbidden)
{
    setenv("KILN_ENFORCE_PRECOMPILED", "1", 1);
    doctor_expect(doctor_findings(kiln_doctor_check_worker, NULL, NULL), "worker",
                  KILN_DOCTOR_SKIPPED, "nothing is compiled");
    doctor_expect(doctor_findings(kiln_doctor_check_compilers, KILN_DOCTOR_TARGET, "gfx942"),
                  "target", KILN_DOCTOR_WRONG, "no cache here has kernels for gfx942");
    cr_expect_null(doctor_fact(KILN_DOCTOR_COMPILER));
}
