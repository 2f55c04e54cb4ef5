#include "tests/cli/doctor/doctor_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct kiln_doctor doctor;

static const char *member(const json_t *finding, const char *name)
{
    const char *text = json_string_value(json_object_get(finding, name));
    return text ? text : "";
}

void doctor_expect(const json_t *findings, const char *name, enum kiln_doctor_state state,
                   const char *part)
{
    size_t index;
    const json_t *finding;
    json_array_foreach(findings, index, finding)
    {
        bool has_part =
            strstr(member(finding, "text"), part) || strstr(member(finding, "remedy"), part);
        if (strcmp(member(finding, "name"), name) == 0 && has_part &&
            kiln_doctor_state_of(finding) == state)
            return;
    }
    char *text = json_dumps(findings, JSON_INDENT(2));
    cr_expect(false, "no finding '%s', %s, with '%s': %s", name, kiln_doctor_state_name(state),
              part, text);
    free(text);
}

const json_t *doctor_findings(void (*check)(struct kiln_doctor *doctor), const char *fact,
                              const char *value)
{
    if (doctor.facts)
        kiln_doctor_fini(&doctor);
    kiln_doctor_init(&doctor);
    if (fact)
        kiln_doctor_set_fact(&doctor, fact, value);
    check(&doctor);
    return doctor.findings;
}

const char *doctor_fact(const char *name)
{
    return kiln_doctor_fact(&doctor, name);
}
