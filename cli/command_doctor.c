/*
 * kiln doctor: is everything here that the plugin needs, and does it work.
 */
#include "cli/command_line.h"
#include "cli/doctor/doctor.h"
#include "cli/message.h"
#include "cli/text.h"
#include "runtime/device/device.h"

#include <stdio.h>
#include <string.h>

static void count_states(const json_t *findings, unsigned counts[KILN_DOCTOR_STATE_COUNT])
{
    size_t index;
    const json_t *finding;
    json_array_foreach(findings, index, finding) counts[kiln_doctor_state_of(finding)]++;
}

static void print_group(const struct kiln_doctor_check *check, size_t index)
{
    bool is_new = !index || strcmp(check[-1].group, check->group) != 0;
    if (is_new)
        printf("%s%s\n", index ? "\n" : "", check->group);
    (void)fflush(stdout); /* each check may take its time */
}

static void print_json(json_t *checks, const unsigned counts[KILN_DOCTOR_STATE_COUNT])
{
    json_t *document = kiln_json_object();
    json_t *summary = kiln_json_object();
    for (unsigned i = 0; i < KILN_DOCTOR_STATE_COUNT; i++)
        kiln_json_set(summary, kiln_doctor_state_name(i), json_integer(counts[i]));
    kiln_json_set(document, "checks", checks);
    kiln_json_set(document, "summary", summary);
    kiln_json_print(document);
}

static int examine(struct kiln_doctor *doctor, bool json)
{
    unsigned counts[KILN_DOCTOR_STATE_COUNT] = {0};
    json_t *checks = kiln_json_array();
    for (size_t i = 0; i < kiln_doctor_check_count; i++) {
        if (!json)
            print_group(&kiln_doctor_checks[i], i);
        json_t *findings = kiln_doctor_run(doctor, &kiln_doctor_checks[i]);
        count_states(findings, counts);
        if (!json)
            kiln_doctor_print(findings);
        (void)json_array_extend(checks, findings);
        json_decref(findings);
    }
    if (json) {
        print_json(checks, counts);
    } else {
        printf("\n%u ok, %u %s, %u wrong, %u skipped\n", counts[KILN_DOCTOR_OK],
               counts[KILN_DOCTOR_WARNING],
               counts[KILN_DOCTOR_WARNING] == 1 ? "warning" : "warnings", counts[KILN_DOCTOR_WRONG],
               counts[KILN_DOCTOR_SKIPPED]);
        json_decref(checks);
    }
    return counts[KILN_DOCTOR_WRONG] ? KILN_EXIT_FAILED : KILN_EXIT_OK;
}

int kiln_command_doctor(struct kiln_command_line *line)
{
    struct kiln_doctor doctor;
    struct kiln_error error;
    const char *device = NULL;
    bool json = false;
    for (;;) {
        enum kiln_option_id option = kiln_command_line_next(line);
        if (option == KILN_OPTION_END)
            break;
        if (option == KILN_OPTION_DOCTOR_JSON)
            json = true;
        else
            device = line->value;
    }
    if (line->stopped)
        return line->exit_code;
    kiln_error_init(&error);
    if (device && kiln_device_check_names(device, &error) != KILN_OK) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_USAGE;
    }
    kiln_doctor_init(&doctor);
    doctor.device = device;
    doctor.is_verbose = kiln_log_level() == KILN_LOG_INFO;
    int exit_code = examine(&doctor, json);
    kiln_doctor_fini(&doctor);
    return exit_code;
}
