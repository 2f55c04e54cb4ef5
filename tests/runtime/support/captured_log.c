#include "tests/runtime/support/captured_log.h"

#include "runtime/support/notice.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned counts[KILN_LOG_OFF];
static char last[KILN_LOG_MESSAGE_BYTES];

static void capture(enum kiln_log_level level, const char *message)
{
    pthread_mutex_lock(&mutex);
    counts[level]++;
    (void)snprintf(last, sizeof last, "%s", message);
    pthread_mutex_unlock(&mutex);
}

void captured_log_start(enum kiln_log_level level)
{
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < KILN_LOG_OFF; i++)
        counts[i] = 0;
    last[0] = '\0';
    pthread_mutex_unlock(&mutex);
    kiln_notices_forget();
    kiln_log_set_sink(capture);
    kiln_log_set_level(level);
}

unsigned captured_log_count(enum kiln_log_level level)
{
    pthread_mutex_lock(&mutex);
    unsigned count = counts[level];
    pthread_mutex_unlock(&mutex);
    return count;
}

const char *captured_log_last(void)
{
    return last;
}
