#include "plugin_api/last_error.h"

#include <criterion/criterion.h>
#include <string.h>

Test(last_error, a_failure_never_reads_as_success)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_neq(kiln_last_error_set(&error), HIPDNN_PLUGIN_STATUS_SUCCESS);
    for (int status = 1; status <= KILN_INTERNAL; status++) {
        (void)kiln_error_set(&error, (enum kiln_status)status, "failure %d", status);
        hipdnnPluginStatus_t told = kiln_last_error_set(&error);
        cr_expect_neq(told, HIPDNN_PLUGIN_STATUS_SUCCESS);
        /* Hosts of Nov 2025 know no others. */
        cr_expect_leq(told, HIPDNN_PLUGIN_STATUS_ALLOC_FAILED);
        cr_expect_str_eq(kiln_last_error(), error.text);
    }
}

Test(last_error, long_texts_are_cut)
{
    char text[2 * HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_expect_eq(kiln_last_error_bad_param("%s", text), HIPDNN_PLUGIN_STATUS_BAD_PARAM);
    cr_expect_eq(strlen(kiln_last_error()), HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH - 1);
}
