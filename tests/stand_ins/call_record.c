#include "tests/stand_ins/call_record.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kiln_stand_in_call *calls;
static size_t call_count;
static struct {
    char function[64];
    int code;
    int successes;
} fault;

__attribute__((destructor)) static void free_calls(void)
{
    free(calls);
}

EXPORT size_t kiln_stand_in_call_count(void)
{
    return call_count;
}

EXPORT const struct kiln_stand_in_call *kiln_stand_in_call(size_t index)
{
    return index < call_count ? &calls[index] : NULL;
}

EXPORT void kiln_stand_in_fail(const char *function, int code, int successes)
{
    pthread_mutex_lock(&lock);
    snprintf(fault.function, sizeof(fault.function), "%s", function);
    fault.code = code;
    fault.successes = successes;
    pthread_mutex_unlock(&lock);
}

void kiln_record_reset(void)
{
    pthread_mutex_lock(&lock);
    call_count = 0;
    memset(&fault, 0, sizeof(fault));
    pthread_mutex_unlock(&lock);
}

int kiln_record_outcome(const char *function, int code)
{
    pthread_mutex_lock(&lock);
    if (fault.code != 0 && strcmp(fault.function, function) == 0 && fault.successes-- <= 0)
        code = fault.code;
    pthread_mutex_unlock(&lock);
    return code;
}

void kiln_record_call(const char *function, int result, int device,
                      const struct kiln_stand_in_call *details)
{
    pthread_mutex_lock(&lock);
    if (!calls)
        calls = calloc(KILN_STAND_IN_CALLS, sizeof(*calls));
    if (calls && call_count < KILN_STAND_IN_CALLS) {
        struct kiln_stand_in_call *call = &calls[call_count++];
        if (details)
            *call = *details;
        else
            memset(call, 0, sizeof(*call));
        call->function = function;
        call->result = result;
        call->device = device;
    }
    pthread_mutex_unlock(&lock);
}

void kiln_record_count(int *counter, int change)
{
    pthread_mutex_lock(&lock);
    *counter += change;
    pthread_mutex_unlock(&lock);
}
