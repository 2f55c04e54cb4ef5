#include "cli/doctor/doctor_entries.h"

#include "cache/cache_inventory.h"
#include "cache/cache_visit.h"
#include "cli/cache/entry_description.h"
#include "cli/text.h"
#include "runtime/support/subprocess.h"

#include <inttypes.h>
#include <string.h>

enum { READING_MS = 5000 };

struct count {
    const char *target; /* NULL: any */
    uint64_t deadline_ms;
    uint64_t entries;
    uint64_t programs; /* that this build can use, for the target */
    uint64_t kernels;
    uint64_t elsewhere; /* that it can use, for other targets */
    uint64_t foreign;   /* of other builds */
    uint64_t damaged;
    char damage[256]; /* the first */
};

static void count_entry(const struct kiln_entry_view *view, struct count *count)
{
    struct kiln_entry_description description;
    kiln_entry_describe(view, true, &description);
    if (!description.program && !description.kernel)
        count->foreign++;
    else if (count->target && !kiln_entry_is_for(&description, count->target))
        count->elsewhere++;
    else if (description.program)
        count->programs++;
    else
        count->kernels++;
    kiln_entry_description_fini(&description);
}

static enum kiln_status visit(void *context, const struct kiln_cache_visited *entry,
                              struct kiln_error *error)
{
    struct count *count = context;
    count->entries++;
    if (entry->status == KILN_OK) {
        count_entry(&entry->view, count);
    } else if (!count->damaged++) {
        (void)snprintf(count->damage, sizeof count->damage, "%s", entry->reason);
    }
    if (kiln_monotonic_milliseconds() > count->deadline_ms)
        return kiln_error_set(error, KILN_TIMEOUT, "there is more");
    return KILN_OK;
}

/* Opens without creating the directory. */
static enum kiln_status count_entries(int source, struct count *count, struct kiln_error *error)
{
    static const struct kiln_cache_options options = {.remote = "", .no_create = true};
    struct kiln_cache_store *store = NULL;
    enum kiln_status status = kiln_cache_store_open(&options, &store, error);
    if (status == KILN_OK)
        status = kiln_cache_store_visit(store, source, visit, count, error);
    kiln_cache_store_close(store);
    return status;
}

static void add_counts(struct kiln_doctor *doctor, const char *name, bool is_whole,
                       const struct count *count)
{
    char text[512];
    if (!count->entries) {
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, name, NULL, "none yet");
        return;
    }
    bool is_useless = count->entries && !count->programs && !count->kernels && !count->elsewhere;
    int at = snprintf(text, sizeof text, "%s%" PRIu64 " %s: %" PRIu64 " %s and %" PRIu64 " %s%s%s",
                      is_whole ? "" : "the first ", count->entries,
                      count->entries == 1 ? "entry" : "entries", count->programs,
                      count->programs == 1 ? "program" : "programs", count->kernels,
                      count->kernels == 1 ? "kernel" : "kernels", count->target ? " for " : "",
                      count->target ? count->target : "");
    if (count->elsewhere)
        at += snprintf(text + at, sizeof text - (size_t)at, ", %" PRIu64 " for other targets",
                       count->elsewhere);
    if (count->foreign)
        (void)snprintf(text + at, sizeof text - (size_t)at,
                       ", %" PRIu64 " of other builds, which this one cannot use", count->foreign);
    if (is_useless && !count->damaged)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, name,
                        "'kiln compile' with this build makes them anew", "%s", text);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, name, NULL, "%s", text);
    if (count->damaged)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, name,
                        "'kiln cache verify' lists them; they are compiled again when needed",
                        "%" PRIu64 " of them %s damaged; the first: %s", count->damaged,
                        count->damaged == 1 ? "is" : "are", count->damage);
}

void kiln_doctor_report_entries(struct kiln_doctor *doctor, const char *name, int source)
{
    struct count count = {.target = kiln_doctor_fact(doctor, KILN_DOCTOR_TARGET),
                          .deadline_ms = kiln_monotonic_milliseconds() + READING_MS};
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = count_entries(source, &count, &error);
    if (status != KILN_OK && status != KILN_TIMEOUT) {
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, name, "run 'kiln cache verify'",
                                 error.text);
        return;
    }
    add_counts(doctor, name, status == KILN_OK, &count);
    if (count.target && count.kernels)
        kiln_doctor_set_fact(doctor, KILN_DOCTOR_KERNELS, "some");
}
