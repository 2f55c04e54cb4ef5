/* A check that crashes, hangs or ends the process costs one finding. */
#include "tests/cli/doctor/doctor_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void find_two(struct kiln_doctor *doctor)
{
    kiln_doctor_add(doctor, KILN_DOCTOR_OK, "one", NULL, "%s", "all is well");
    kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, "two", "not this",
                             "it is not\nhint: do this\nhint: or that");
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_TARGET, "gfx942");
    printf("libraries print what they like\n");
}

static void crash(struct kiln_doctor *doctor)
{
    kiln_doctor_add(doctor, KILN_DOCTOR_OK, "lost", NULL, "lost");
    abort();
}

static void hang(struct kiln_doctor *doctor)
{
    (void)doctor;
    for (;;)
        (void)pause();
}

static void leave(struct kiln_doctor *doctor)
{
    (void)doctor;
    _exit(7);
}

static void find_much(struct kiln_doctor *doctor)
{
    for (int i = 0; i < 2000; i++)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, "much", "and \x1b[31m more", "%0100d \xff", i);
}

/* A name, how long it may take, and what is found then. */
static json_t *findings_of(void (*run)(struct kiln_doctor *doctor), uint32_t limit_ms,
                           struct kiln_doctor *doctor)
{
    const struct kiln_doctor_check check = {"group", "check", limit_ms, "do something", run};
    return kiln_doctor_run(doctor, &check);
}

Test(doctor_run, findings_and_facts_come_from_the_child, .timeout = 60)
{
    struct kiln_doctor doctor;
    kiln_doctor_init(&doctor);
    json_t *findings = findings_of(find_two, 30000, &doctor);
    cr_assert_eq(json_array_size(findings), 2);
    doctor_expect(findings, "one", KILN_DOCTOR_OK, "all is well");
    doctor_expect(findings, "two", KILN_DOCTOR_WRONG, "do this\nor that");
    const json_t *first = json_array_get(findings, 0);
    cr_expect_str_eq(json_string_value(json_object_get(first, "group")), "group");
    cr_expect(json_is_null(json_object_get(first, "remedy")));
    cr_expect(json_is_integer(json_object_get(first, "duration_ns")));
    cr_expect_str_eq(kiln_doctor_fact(&doctor, KILN_DOCTOR_TARGET), "gfx942");
    json_decref(findings);
    findings = findings_of(find_much, 30000, &doctor);
    cr_expect_eq(json_array_size(findings), 2000, "those of the check before are not in it");
    json_decref(findings);
    kiln_doctor_fini(&doctor);
}

Test(doctor_run, a_check_that_ends_is_one_finding, .timeout = 60)
{
    struct kiln_doctor doctor;
    kiln_doctor_init(&doctor);
    json_t *findings = findings_of(crash, 30000, &doctor);
    doctor_expect(findings, "check", KILN_DOCTOR_WRONG, "ended by signal 6");
    doctor_expect(findings, "check", KILN_DOCTOR_WRONG, "do something");
    cr_expect_eq(json_array_size(findings), 1);
    json_decref(findings);
    findings = findings_of(hang, 50, &doctor);
    doctor_expect(findings, "check", KILN_DOCTOR_WRONG, "no answer within 0.05 s");
    json_decref(findings);
    findings = findings_of(leave, 30000, &doctor);
    doctor_expect(findings, "check", KILN_DOCTOR_WRONG, "exit code 7");
    cr_expect_str_eq(kiln_doctor_fact(&doctor, KILN_DOCTOR_SILENT), "group");
    json_decref(findings);
    kiln_doctor_fini(&doctor);
}
