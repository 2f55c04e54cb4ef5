/* The variables that Kiln reads, and those of hipDNN that decide whether Kiln is asked. */
#include "cli/config_rows.h"
#include "cli/doctor/doctor.h"
#include "cli/text.h"
#include "plugin_api/engine_identity.h"
#include "runtime/support/buffer.h"
#include "runtime/support/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char check[] = "settings";

/* Hosts match a name, or an id in decimal or hexadecimal digits. */
static bool names_kiln(const char *order)
{
    char forms[3][32];
    (void)snprintf(forms[0], sizeof forms[0], "%s", KILN_ENGINE_NAME);
    (void)snprintf(forms[1], sizeof forms[1], "%" PRId64, kiln_engine_id());
    (void)snprintf(forms[2], sizeof forms[2], "%" PRIx64, (uint64_t)kiln_engine_id());
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcasestr(order, forms[i]))
            return true;
    return false;
}

static void check_order(struct kiln_doctor *doctor)
{
    static const char variable[] = "HIPDNN_HEUR_FALLBACK_ENGINE_ORDER";
    const char *order = getenv(variable);
    if (order && *order && !names_kiln(order))
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check, "add " KILN_ENGINE_NAME " to it",
                        "%s is '%s': hipDNN uses only the engines that it names, and Kiln's is "
                        "none of them",
                        variable, order);
}

static void add_problems(struct kiln_doctor *doctor, const struct kiln_config_row *row)
{
    char *text = NULL;
    const char *found = strstr(row->problem, row->name);
    bool is_named = found && found < row->problem + strcspn(row->problem, "\n");
    if (asprintf(&text, "%s%s%s", is_named ? "" : row->name, is_named ? "" : ": ", row->problem) <
        0)
        return;
    kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, check,
                             "correct it or unset it; 'kiln config' lists every setting", text);
    free(text);
}

/* True where a later check says more of it. */
static bool is_checked_later(const struct kiln_doctor *doctor, const char *name)
{
    static const enum kiln_environment_variable later[] = {
        KILN_ENVIRONMENT_KILN_CACHE_LAYERS, KILN_ENVIRONMENT_KILN_CACHE_REMOTE,
        KILN_ENVIRONMENT_KILN_COMPILE_WORKER, KILN_ENVIRONMENT_KILN_DEVICE};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(kiln_environment_info(later[i])->name, name) == 0)
            return later[i] != KILN_ENVIRONMENT_KILN_DEVICE || !doctor->device;
    return false;
}

void kiln_doctor_check_settings(struct kiln_doctor *doctor)
{
    struct kiln_config_rows rows;
    struct kiln_buffer names;
    unsigned set = 0;
    bool is_good = true;
    kiln_buffer_init(&names);
    kiln_config_list_settings(&rows);
    for (size_t i = 0; i < rows.count; i++) {
        const struct kiln_config_row *row = &rows.rows[i];
        bool is_default = strcmp(row->source, "default") == 0;
        if (!is_default)
            kiln_buffer_printf(&names, "%s%s", set++ ? ", " : "", row->name);
        if (row->problem && !is_checked_later(doctor, row->name)) {
            add_problems(doctor, row);
            is_good = false;
        }
    }
    if (is_good && set)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%u set: %s", set,
                        kiln_buffer_text(&names));
    else if (is_good)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "all defaults");
    check_order(doctor);
    kiln_buffer_fini(&names);
    kiln_config_rows_fini(&rows);
}
