/* Read-only layers and packs, and the tier that machines share. */
#include "cache/cache_directory.h"
#include "cache/cache_store.h"
#include "cache/remote_cache.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_entries.h"
#include "cli/text.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"

#include <stdio.h>
#include <string.h>

/* ---- layers ---- */

static struct kiln_doctor *listener;

/* The store leaves out a layer that it cannot use, with a warning. */
static void hear(enum kiln_log_level level, const char *message)
{
    if (level >= KILN_LOG_WARN)
        kiln_doctor_add_sentence(listener, KILN_DOCTOR_WRONG, "layer",
                                 "correct KILN_CACHE_LAYERS, or make that pack again with 'kiln "
                                 "cache export'",
                                 message);
}

static size_t report_layers(struct kiln_doctor *doctor, const struct kiln_cache_store *store)
{
    size_t count = kiln_cache_store_layer_count(store);
    for (size_t i = 0; i < count; i++) {
        struct kiln_cache_layer_info layer = kiln_cache_store_layer(store, i);
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, "layer", NULL, "%s, a %s%s", layer.path,
                        layer.is_pack ? "pack" : "directory",
                        layer.is_system ? " of this installation" : "");
        kiln_doctor_report_entries(doctor, "its entries", (int)i);
    }
    return count;
}

void kiln_doctor_check_cache_layers(struct kiln_doctor *doctor)
{
    static const struct kiln_cache_options options = {.remote = "", .no_create = true};
    struct kiln_cache_store *store = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_log_level level = kiln_log_level();
    listener = doctor;
    (void)setenv(kiln_environment_info(KILN_ENVIRONMENT_KILN_CACHE_DIR)->name, "", 1);
    kiln_log_set_level(KILN_LOG_WARN);
    kiln_log_set_sink(hear);
    enum kiln_status status = kiln_cache_store_open(&options, &store, &error);
    kiln_log_set_sink(NULL);
    kiln_log_set_level(level);
    if (status != KILN_OK)
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, "layer", NULL, error.text);
    else if (!report_layers(doctor, store) && !json_array_size(doctor->findings))
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, "layers", NULL, "%s",
                        kiln_cache_is_disabled() ? "HIPDNN_DISABLE_CACHE is on"
                                                 : "KILN_CACHE_LAYERS names none");
    kiln_cache_store_close(store);
}

/* ---- the shared tier ---- */

void kiln_doctor_check_shared_cache(struct kiln_doctor *doctor)
{
    static const char check[] = "shared tier";
    const char *url = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_REMOTE);
    struct kiln_remote_cache *remote = NULL;
    struct kiln_error error;
    uint64_t duration_ns = 0;
    char duration[KILN_TEXT_AMOUNT_BYTES];
    kiln_error_init(&error);
    if (!url || !*url) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL, "KILN_CACHE_REMOTE names none");
        return;
    }
    enum kiln_status status = kiln_remote_cache_open(url, &remote, &error);
    if (status == KILN_OK)
        status = kiln_remote_cache_probe(remote, &duration_ns, &error);
    if (status != KILN_OK)
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, check,
                                 "check the server and the address in KILN_CACHE_REMOTE",
                                 error.text);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s answers in %s",
                        kiln_remote_cache_name(remote), kiln_text_duration(duration, duration_ns));
    if (remote)
        kiln_remote_cache_close(remote);
}
