/* Results as comma-separated values, quoted as RFC 4180 says, one line per graph. */
#include "cli/bench/bench_result.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Every column: TEXT(name, value), COUNT or REAL; 0, which is what was not measured, is empty. `r`
 * is the result. */
#define COLUMNS                                                                                    \
    TEXT("date", results->origin.date)                                                             \
    TEXT("host", results->origin.host)                                                             \
    TEXT("device_name", results->origin.device.name)                                               \
    TEXT("device", results->device)                                                                \
    TEXT("target", results->target)                                                                \
    TEXT("name", r->name)                                                                          \
    COUNT("elements", r->elements)                                                                 \
    COUNT("bytes_fewest", r->bytes_fewest)                                                         \
    COUNT("flop", r->flop)                                                                         \
    REAL("flop_per_s", kiln_bench_flop_rate(r))                                                    \
    TEXT("bound", r->failure != NULL ? "" : kiln_bound_name(r->bound))                             \
    REAL("share_of_bound", r->share_of_bound)                                                      \
    CONTESTANT("fused", fused)                                                                     \
    CONTESTANT("unfused", unfused)                                                                 \
    CONTESTANT("argument", argument)                                                               \
    COUNT("copy_bytes_moved", r->copy_bytes)                                                       \
    TIME("copy", r->copy)                                                                          \
    REAL("copy_bytes_per_s", kiln_bench_copy_rate(r))                                              \
    REAL("host_overhead_us", 1e6 * r->host_overhead_s)                                             \
    REAL("share_of_copy", kiln_bench_share_of_copy(r))                                             \
    REAL("moved_share_of_copy", kiln_bench_moved_share_of_copy(r))                                 \
    REAL("speed_up", kiln_bench_speed_up(r))                                                       \
    REAL("argument_speed", kiln_bench_argument_speed(r))                                           \
    REAL("promised_speed_up", kiln_bench_promised_speed_up(r))                                     \
    TEXT("failure", r->failure != NULL ? r->failure : "")

#define CONTESTANT(name, contestant)                                                               \
    COUNT(name "_kernels", r->contestant.kernels)                                                  \
    COUNT(name "_bytes_moved", r->contestant.bytes_moved)                                          \
    TIME(name, r->contestant.time)                                                                 \
    REAL(name "_bytes_per_s", kiln_bench_rate(r, &r->contestant))                                  \
    REAL(name "_compile_cold_us", 1e6 * r->contestant.compile_cold_s)                              \
    REAL(name "_compile_cached_us", 1e6 * r->contestant.compile_cached_s)

#define TIME(name, time)                                                                           \
    REAL(name "_median_us", 1e6 * (time).median_s)                                                 \
    REAL(name "_low_us", 1e6 * (time).low_s)                                                       \
    REAL(name "_high_us", 1e6 * (time).high_s)                                                     \
    COUNT(name "_samples", (time).samples)

/* Names are untrusted, and a terminal may be reading: what is no text is escaped before anything is
 * quoted. */
static void print_text(FILE *stream, const char *text)
{
    char *escaped = kiln_text_escape(text);
    if (strpbrk(escaped, ",\"") == NULL) {
        fputs(escaped, stream);
    } else {
        fputc('"', stream);
        for (const char *at = escaped; *at != '\0'; at++) {
            if (*at == '"')
                fputc('"', stream);
            fputc(*at, stream);
        }
        fputc('"', stream);
    }
    free(escaped);
}

static void print_heading(FILE *stream)
{
    const char *comma = "";
#define TEXT(name, value)                                                                          \
    fprintf(stream, "%s%s", comma, name);                                                          \
    comma = ",";
#define COUNT(name, value) TEXT(name, value)
#define REAL(name, value)  TEXT(name, value)
    COLUMNS
#undef TEXT
#undef COUNT
#undef REAL
    fputc('\n', stream);
}

static void print_result(FILE *stream, const struct kiln_bench_results *results,
                         const struct kiln_bench_result *r)
{
    const char *comma = "";
#define TEXT(name, value)                                                                          \
    fputs(comma, stream);                                                                          \
    print_text(stream, value);                                                                     \
    comma = ",";
#define COUNT(name, value)                                                                         \
    fputs(comma, stream);                                                                          \
    if ((value) != 0)                                                                              \
        fprintf(stream, "%" PRIu64, (uint64_t)(value));                                            \
    comma = ",";
#define REAL(name, value)                                                                          \
    fputs(comma, stream);                                                                          \
    if ((value) > 0)                                                                               \
        fprintf(stream, "%.9g", value);                                                            \
    comma = ",";
    COLUMNS
#undef TEXT
#undef COUNT
#undef REAL
    fputc('\n', stream);
}

void kiln_bench_print_csv(const struct kiln_bench_results *results, FILE *stream)
{
    print_heading(stream);
    for (size_t i = 0; i < results->count; i++)
        print_result(stream, results, &results->results[i]);
}
