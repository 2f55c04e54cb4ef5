#include "tests/cache/fault_wrappers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int (*scan_filter)(const struct dirent *);
typedef int (*scan_order)(const struct dirent **, const struct dirent **);

static struct fault last_armed;
static enum fault_kind kind; /* FAULT_NONE again when it is over */
static unsigned long calls;
static unsigned long fault_at;
static bool unlink_failed;

void fault_wrappers_arm(struct fault fault, unsigned long at)
{
    last_armed = fault;
    kind = fault.kind;
    calls = 0;
    fault_at = at;
    unlink_failed = false;
}

unsigned long fault_wrappers_disarm(void)
{
    kind = FAULT_NONE;
    return calls;
}

bool fault_wrappers_unlink_failed(void)
{
    return unlink_failed;
}

const char *fault_wrappers_describe(void)
{
    static char text[80];
    (void)snprintf(text, sizeof text, "call %lu, kind %d, %s", fault_at, (int)last_armed.kind,
                   strerrorname_np(last_armed.number));
    return text;
}

static bool is_due(void)
{
    if (kind == FAULT_NONE)
        return false;
    calls++;
    return calls == fault_at || (kind == FAULT_STAYS && calls > fault_at);
}

/* close() gives the descriptor back whatever it says. What an open or a listing would have given is
 * not lost track of: it just fails. */
static bool happens_anyway(const char *name)
{
    if (strcmp(name, "close") == 0)
        return true;
    return kind == FAULT_LATE && strcmp(name, "scandirat") != 0;
}

static void note_failure(const char *name)
{
    unlink_failed = unlink_failed || strcmp(name, "unlinkat") == 0;
    errno = last_armed.number;
}

#define UNWRAP(...) __VA_ARGS__
#define WRAPPED(type, name, parameters, arguments, failure)                                        \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (!is_due() || kind == FAULT_SHORT)                                                      \
            return __real_##name arguments;                                                        \
        if (happens_anyway(#name))                                                                 \
            (void)!__real_##name arguments;                                                        \
        note_failure(#name);                                                                       \
        return failure;                                                                            \
    }
/* A short one has at least one byte: none would be the end of the file. */
#define WRAPPED_TRANSFER(name, parameters, arguments)                                              \
    ssize_t __real_##name parameters;                                                              \
    ssize_t __wrap_##name parameters;                                                              \
    ssize_t __wrap_##name parameters                                                               \
    {                                                                                              \
        bool due = is_due();                                                                       \
        if (due && kind == FAULT_SHORT && size > 1)                                                \
            size /= 2;                                                                             \
        if (!due || kind == FAULT_SHORT)                                                           \
            return __real_##name arguments;                                                        \
        if (happens_anyway(#name))                                                                 \
            (void)!__real_##name arguments;                                                        \
        note_failure(#name);                                                                       \
        return -1;                                                                                 \
    }
#define WRAPPED_OPEN(name, parameters, arguments)                                                  \
    int __real_##name(UNWRAP parameters, ...);                                                     \
    int __wrap_##name(UNWRAP parameters, ...);                                                     \
    int __wrap_##name(UNWRAP parameters, ...)                                                      \
    {                                                                                              \
        mode_t mode = 0;                                                                           \
        if ((flags & O_CREAT) != 0) {                                                              \
            va_list list;                                                                          \
            va_start(list, flags);                                                                 \
            mode = va_arg(list, mode_t);                                                           \
            va_end(list);                                                                          \
        }                                                                                          \
        if (!is_due() || kind == FAULT_SHORT)                                                      \
            return __real_##name(UNWRAP arguments, mode);                                          \
        note_failure(#name);                                                                       \
        return -1;                                                                                 \
    }
#include "tests/cache/store_faults.def"
