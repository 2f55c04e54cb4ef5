#include "cli/kernel_profile.h"

#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>

void kiln_kernel_profiles_free(struct kiln_kernel_profile *profiles, uint32_t count)
{
    for (uint32_t i = 0; profiles != NULL && i < count; i++)
        free(profiles[i].symbol);
    free(profiles);
}

static double rate(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

static void set_known(json_t *object, const char *name, double value)
{
    kiln_json_set(object, name, value > 0 ? kiln_json_real(value) : json_null());
}

json_t *kiln_kernel_profile_to_json(const struct kiln_kernel_profile *profile, uint32_t kernel)
{
    const struct kiln_kernel_work *work = &profile->work;
    double flop = kiln_work_flop(work);
    json_t *object = kiln_json_object();
    kiln_json_set(object, "kernel", json_integer(kernel));
    kiln_json_set(object, "symbol", kiln_json_text(profile->symbol));
    kiln_json_set(object, "template", json_string(work->template_name));
    set_known(object, "time_us", 1e6 * profile->seconds);
    kiln_json_set(object, "bytes_moved", json_integer((json_int_t)work->bytes_moved));
    kiln_json_set(object, "bytes_fewest", json_integer((json_int_t)work->bytes_fewest));
    kiln_json_set(object, "flop", kiln_json_real(flop));
    set_known(object, "bytes_per_s", rate((double)work->bytes_fewest, profile->seconds));
    set_known(object, "flop_per_s", rate(flop, profile->seconds));
    kiln_json_set(object, "bound", json_string(kiln_bound_name(profile->bound)));
    set_known(object, "share_of_bound", profile->share);
    return object;
}

/* Four digits, so that a difference within the spread shows. */
void kiln_profile_add_number(struct kiln_table *table, double number)
{
    if (number <= 0)
        kiln_table_add(table, "-");
    else if (number < 0.01)
        kiln_table_add(table, "%.2g", number);
    else
        kiln_table_add(table, "%.*f",
                       number < 9.9995   ? 3
                       : number < 99.995 ? 2
                       : number < 99999  ? 1
                                         : 0,
                       number);
}

void kiln_profile_add_bound(struct kiln_table *table, enum kiln_bound bound, double share)
{
    if (share > 0)
        kiln_table_add(table, share < 0.01 ? "%s %.1g%%" : "%s %.0f%%", kiln_bound_name(bound),
                       100 * share);
    else
        kiln_table_add(table, "%s", kiln_bound_name(bound));
}

void kiln_kernel_profiles_print(const struct kiln_kernel_profile *profiles, uint32_t count)
{
    static const char *const headings[] = {"kernel", "template", "time us", "MB",
                                           "GB/s",   "MFLOP",    "GFLOP/s", "of bound"};
    enum { COLUMNS = sizeof headings / sizeof *headings };
    struct kiln_table table;
    kiln_table_init(&table, COLUMNS, 0xfd);
    for (size_t i = 0; i < COLUMNS; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_kernel_profile *profile = &profiles[i];
        double bytes = (double)profile->work.bytes_fewest;
        double flop = kiln_work_flop(&profile->work);
        kiln_table_add(&table, "%u", (unsigned)i);
        kiln_table_add(&table, "%s", profile->work.template_name);
        kiln_profile_add_number(&table, 1e6 * profile->seconds);
        kiln_profile_add_number(&table, bytes / 1e6);
        kiln_profile_add_number(&table, rate(bytes, profile->seconds) / 1e9);
        kiln_profile_add_number(&table, flop / 1e6);
        kiln_profile_add_number(&table, rate(flop, profile->seconds) / 1e9);
        kiln_profile_add_bound(&table, profile->bound, profile->share);
    }
    kiln_table_print(&table);
    kiln_table_fini(&table);
}
