#include "plugin_api/log_bridge.h"

#include "runtime/support/environment.h"
#include "runtime/support/log.h"
#include "runtime/support/standard_error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Room for the brackets in front of a message. */
enum { PREFIX_BYTES = 128 };

static const char *const level_names[] = {"info", "warn", "error", "fatal", "off"};

static _Atomic(hipdnnCallback_t) current_callback;
static atomic_bool host_told_level;
static _Atomic(enum kiln_log_level) host_level = KILN_LOG_OFF; /* that the host prints from */
static atomic_bool has_own_level;                              /* KILN_LOG_LEVEL is set */

static void send_line(enum kiln_log_level level, const char *message)
{
    hipdnnCallback_t callback = atomic_load(&current_callback);
    bool is_dropped = !callback || level < atomic_load(&host_level);
    if (!callback && !atomic_load(&has_own_level))
        return;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm local = {0};
    localtime_r(&now.tv_sec, &local);
    char date[32];
    if (strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local) == 0)
        date[0] = '\0';
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
