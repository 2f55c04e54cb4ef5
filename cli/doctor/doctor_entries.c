#include "cli/doctor/doctor_entries.h"

#include "cache/cache_inventory.h"
#include "cache/cache_settings.h"
#include "cache/cache_visit.h"
#include "cli/cache/entry_description.h"
#include "cli/text.h"
#include "compiler/codegen/codegen.h"
#include "runtime/engine/stale_entry.h"
#include "runtime/support/subprocess.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { READING_MS = 5000 };

struct count {
    const char *target;   /* NULL: any */
    const char *compiler; /* the identity that entries must have; NULL: any */
    uint64_t deadline_ms;
    uint64_t entries;
    uint64_t programs; /* that this build can use, for the target */
    uint64_t kernels;
    uint64_t elsewhere; /* that it can use, for other targets */
    uint64_t stale;     /* that it can never use */
    const char *stale_reason;
    uint64_t refused; /* of compilers that KILN_CACHE_ACCEPT refuses */
    uint64_t damaged;
    char damage[256]; /* the first */
};

static void count_usable(const struct kiln_entry_view *view, struct count *count)
{
    struct kiln_entry_description description;
    kiln_entry_describe(view, false, &description);
    if (count->target && !kiln_entry_is_for(&description, count->target))
        count->elsewhere++;
    else if (count->compiler && strcmp(count->compiler, description.compiler) != 0)
        count->refused++;
    else if (description.kind == KILN_ENTRY_PROGRAM)
        count->programs++;
    else
        count->kernels++;
    kiln_entry_description_fini(&description);
}

static enum kiln_status visit(void *context, const struct kiln_cache_visited *entry,
                              struct kiln_error *error)
{
    struct count *count = context;
    const char *stale_reason = NULL;
    enum kiln_status status = KILN_OK;
    count->entries++;
    if (entry->status == KILN_OK)
        status = kiln_entry_judge_stale(&entry->view, &stale_reason, error);
    else if (!count->damaged++)
        (void)snprintf(count->damage, sizeof count->damage, "%s", entry->reason);
    if (stale_reason && !count->stale++)
        count->stale_reason = stale_reason;
    if (status == KILN_OK && entry->status == KILN_OK && !stale_reason)
        count_usable(&entry->view, count);
    if (status == KILN_OK && kiln_monotonic_milliseconds() > count->deadline_ms)
        return kiln_error_set(error, KILN_TIMEOUT, "there is more");
    return status;
}

/* Entries of earlier formats have other names, so a visit does not meet them. */
static enum kiln_status count_old(struct kiln_cache_store *store, struct count *count,
                                  struct kiln_error *error)
{
    struct kiln_cache_stats stats = {0};
    enum kiln_status status = kiln_cache_store_stats(store, &stats, error);
    if (status == KILN_OK && stats.old_entries) {
        count->entries += stats.old_entries;
        count->stale += stats.old_entries;
        count->stale_reason = "the format is an earlier one";
    }
    return status;
}

/* Opens without creating the directory. */
static enum kiln_status count_entries(int source, struct count *count, struct kiln_error *error)
{
    static const struct kiln_cache_options options = {.remote = "", .no_create = true};
    struct kiln_cache_store *store = NULL;
    enum kiln_status status = kiln_cache_store_open(&options, &store, error);
    if (status == KILN_OK)
        status = kiln_cache_store_visit(store, source, visit, count, error);
    if (status == KILN_OK && source == KILN_CACHE_SOURCE_DIRECTORY)
        status = count_old(store, count, error);
    kiln_cache_store_close(store);
    return status;
}

/* ---- telling ---- */

static void append(char text[512], const char *format, ...) KILN_PRINTF(2, 3);
static void append(char text[512], const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + length, 512 - length, format, arguments);
    va_end(arguments);
}

static void describe(const struct count *count, bool is_whole, char ret_text[512])
{
    *ret_text = '\0';
    append(ret_text, "%s%" PRIu64 " %s: %" PRIu64 " %s and %" PRIu64 " %s",
           is_whole ? "" : "the first ", count->entries, count->entries == 1 ? "entry" : "entries",
           count->programs, count->programs == 1 ? "program" : "programs", count->kernels,
           count->kernels == 1 ? "kernel" : "kernels");
    if (count->target)
        append(ret_text, " for %s", count->target);
    if (count->elsewhere)
        append(ret_text, ", %" PRIu64 " for other targets", count->elsewhere);
    if (count->refused)
        append(ret_text, ", %" PRIu64 " of other compilers, which KILN_CACHE_ACCEPT refuses",
               count->refused);
    if (count->stale)
        append(ret_text, ", %" PRIu64 " that this build cannot use (%s)", count->stale,
               count->stale_reason);
}

static void report_counts(struct kiln_doctor *doctor, const char *name, int source, bool is_whole,
                          const struct count *count)
{
    char text[512];
    const char *device = kiln_doctor_fact(doctor, KILN_DOCTOR_DEVICE);
    bool is_layer = source != KILN_CACHE_SOURCE_DIRECTORY;
    bool is_for_others = is_layer && device && strcmp(device, "hip") == 0;
    bool is_useless = !count->programs && !count->kernels && !count->damaged &&
                      (!count->elsewhere || count->refused || is_for_others);
    const char *remedy = count->refused ? "unset KILN_CACHE_ACCEPT to use them"
                         : is_layer     ? "make the layer again with this build and for this "
                                          "target: 'kiln compile', 'kiln cache export'"
                                        : "'kiln cache prune --stale' removes them";
    describe(count, is_whole, text);
    if (!count->entries)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, name, NULL, "none yet");
    else
        kiln_doctor_add(doctor, is_useless ? KILN_DOCTOR_WARNING : KILN_DOCTOR_OK, name,
                        is_useless ? remedy : NULL, "%s", text);
    if (count->damaged)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, name,
                        "'kiln cache verify' lists them; they are compiled again when needed",
                        "%" PRIu64 " of them %s damaged; the first: %s", count->damaged,
                        count->damaged == 1 ? "is" : "are", count->damage);
}

/* The compiler that entries must come from, which `codegen` owns; NULL: any. */
static const char *required_compiler(const char *target_name, struct kiln_codegen **ret_codegen)
{
    struct kiln_target target;
    struct kiln_error error;
    const char *identity = NULL;
    kiln_error_init(&error);
    if (!target_name || !kiln_cache_same_compiler_setting() ||
        kiln_target_parse(target_name, &target, &error) != KILN_OK ||
        kiln_codegen_create(NULL, ret_codegen, &error) != KILN_OK)
        return NULL;
    return kiln_codegen_identity(*ret_codegen, &target, &identity, &error) == KILN_OK ? identity
                                                                                      : "";
}

void kiln_doctor_report_entries(struct kiln_doctor *doctor, const char *name, int source)
{
    struct kiln_codegen *codegen = NULL;
    struct count count = {.target = kiln_doctor_fact(doctor, KILN_DOCTOR_TARGET),
                          .deadline_ms = kiln_monotonic_milliseconds() + READING_MS};
    struct kiln_error error;
    kiln_error_init(&error);
    count.compiler = required_compiler(count.target, &codegen);
    enum kiln_status status = count_entries(source, &count, &error);
    if (status == KILN_OK || status == KILN_TIMEOUT)
        report_counts(doctor, name, source, status == KILN_OK, &count);
    else
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, name, "run 'kiln cache verify'",
                                 error.text);
    if (count.target && count.kernels)
        kiln_doctor_set_fact(doctor, KILN_DOCTOR_KERNELS, "some");
    if (codegen)
        kiln_codegen_unref(codegen);
}
