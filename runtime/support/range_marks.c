#include "runtime/support/range_marks.h"

#include "runtime/support/environment.h"
#include "runtime/support/notice.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* rocprofv3's library before that of older profilers. */
static const char *const names[] = {"librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so",
                                    "libroctx64.so.4", "libroctx64.so"};

static struct kiln_range_marks marks;

static bool open_library(int flags)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | flags);
        void *push = library != NULL ? dlsym(library, "roctxRangePushA") : NULL;
        void *pop = library != NULL ? dlsym(library, "roctxRangePop") : NULL;
        if (push != NULL && pop != NULL) {
            memcpy(&marks.push, &push, sizeof push);
            memcpy(&marks.pop, &pop, sizeof pop);
            return true;
        }
        if (library != NULL)
            (void)dlclose(library);
    }
    return false;
}

static void find_marks(void)
{
    if (!kiln_environment_flag(KILN_ENVIRONMENT_KILN_ROCTX))
        return;
    /* The profiler that is loaded goes before one that is only installed. */
    if (!open_library(RTLD_NOLOAD) && !open_library(0))
        kiln_notice("KILN_ROCTX is on, but there is no roctx library here\n"
                    "hint: install rocprofiler-sdk-roctx or roctracer");
}

const struct kiln_range_marks *kiln_range_marks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_marks);
    return marks.push != NULL ? &marks : NULL;
}
