#include "plugin_api/log_bridge.h"

#include "runtime/support/environment.h"
#include "runtime/support/log.h"
#include "runtime/support/standard_error.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Room for the brackets in front of a message. */
enum { PREFIX_BYTES = 128, DAY_SECONDS = 86400 };

static const char *const level_names[] = {"info", "warn", "error", "fatal", "off"};

static _Atomic(hipdnnCallback_t) current_callback;
static atomic_bool host_told_level;
static _Atomic(enum kiln_log_level) host_level = KILN_LOG_OFF; /* that the host prints from */
static atomic_bool has_own_level;                              /* KILN_LOG_LEVEL is set */

/* The C library guards time zones by a lock that another thread may have held at a fork. So a
 * forked child takes the offset from UTC that its parent found last. */
static atomic_int home; /* the process that may use the lock; 0: none yet */
static _Atomic(int64_t) utc_offset_seconds;

static int64_t local_seconds(time_t seconds)
{
    struct tm local;
    int none = 0;
    int here = getpid();
    (void)atomic_compare_exchange_strong(&home, &none, here);
    if (atomic_load(&home) == here && localtime_r(&seconds, &local) != NULL)
        atomic_store(&utc_offset_seconds, local.tm_gmtoff);
    return (int64_t)seconds + atomic_load(&utc_offset_seconds);
}

/* "2026-11-26 12:00:00". The C library's functions take that lock even for UTC. */
static void format_time(int64_t seconds, char *ret_text, size_t capacity)
{
    enum { YEARS_DAYS = 365, ERA_YEARS = 400, ERA_DAYS = 146097, DAYS_BEFORE_1970 = 719468 };
    /* Years begin in March, so that the leap day is the last one. */
    int64_t day = seconds / DAY_SECONDS + DAYS_BEFORE_1970;
    int64_t of_day = seconds % DAY_SECONDS;
    int64_t of_era = day % ERA_DAYS;
    int64_t year = (of_era - of_era / (4 * YEARS_DAYS) + of_era / (100 * YEARS_DAYS + 24) -
                    of_era / (ERA_DAYS - 1)) /
                   YEARS_DAYS;
    int64_t of_year = of_era - (YEARS_DAYS * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    int64_t of_month = of_year - (153 * month + 2) / 5 + 1;
    bool is_next_year = month >= 10;
    (void)snprintf(
        ret_text, capacity,
        "%04" PRId64 "-%02" PRId64 "-%02" PRId64 " %02" PRId64 ":%02" PRId64 ":%02" PRId64,
        year + day / ERA_DAYS * ERA_YEARS + is_next_year, is_next_year ? month - 9 : month + 3,
        of_month, of_day / 3600, of_day / 60 % 60, of_day % 60);
}

static void send_line(enum kiln_log_level level, const char *message)
{
    hipdnnCallback_t callback = atomic_load(&current_callback);
    bool is_dropped = !callback || level < atomic_load(&host_level);
    if (!callback && !atomic_load(&has_own_level))
        return;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    char date[64];
    format_time(local_seconds(now.tv_sec), date, sizeof date);
    char line[KILN_LOG_MESSAGE_BYTES + PREFIX_BYTES];
    snprintf(line, sizeof(line), "[%s.%03ld] [tid %ld] [%s] [kiln] %s", date, now.tv_nsec / 1000000,
             (long)gettid(), level_names[level], message);
    if (callback)
        callback((hipdnnSeverity_t)level, line);
    /* KILN_LOG_LEVEL asks for it, whatever the host's own log is set to. */
    if (is_dropped && atomic_load(&has_own_level))
        kiln_standard_error_write(line);
}

static void take_levels(void)
{
    (void)local_seconds(time(NULL));
    enum kiln_log_level level = KILN_LOG_OFF;
    enum kiln_log_level of_host = KILN_LOG_OFF;
    bool own = kiln_log_level_parse(kiln_environment_text(KILN_ENVIRONMENT_KILN_LOG_LEVEL), &level);
    bool is_told = atomic_load(&host_told_level);
    if (!is_told && kiln_log_level_parse(getenv("HIPDNN_LOG_LEVEL"), &of_host))
        atomic_store(&host_level, of_host);
    atomic_store(&has_own_level, own);
    if (own || !is_told)
        kiln_log_set_level(own ? level : of_host);
    /* Nowhere to send lines: without a sink notices go to standard error instead. */
    kiln_log_set_sink(own || atomic_load(&current_callback) ? send_line : NULL);
}

void kiln_log_bridge_set_callback(hipdnnCallback_t callback)
{
    atomic_store(&current_callback, callback);
    take_levels();
}

void kiln_log_bridge_start(void)
{
    if (!atomic_load(&current_callback))
        take_levels();
}

void kiln_log_bridge_set_level(hipdnnSeverity_t level)
{
    atomic_store(&host_told_level, true);
    atomic_store(&host_level, (enum kiln_log_level)level);
    enum kiln_log_level own = KILN_LOG_OFF;
    if (!kiln_log_level_parse(kiln_environment_text(KILN_ENVIRONMENT_KILN_LOG_LEVEL), &own))
        kiln_log_set_level((enum kiln_log_level)level);
}
