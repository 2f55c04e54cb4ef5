#include "runtime/support/own_path.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

char *kiln_own_path(bool *ret_is_program)
{
    static const char anchor;
    Dl_info info;
    struct link_map *map = NULL;
    /* The dynamic linker gives the main program no name. */
    bool is_library = dladdr1(&anchor, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL &&
                      map->l_name != NULL && *map->l_name != '\0';
    if (ret_is_program != NULL)
        *ret_is_program = !is_library;
    if (is_library)
        return realpath(map->l_name, NULL);
    char *path = realpath("/proc/self/exe", NULL);
    /* Without /proc: as the program was called, from the directory that it started in. */
    const char *called = (const char *)getauxval(AT_EXECFN);
    return path == NULL && called != NULL ? realpath(called, NULL) : path;
}

char *kiln_path_from_own(const char *from_library, const char *from_program)
{
    bool is_program;
    char *own = kiln_own_path(&is_program);
    const char *place = is_program ? from_program : from_library;
    char *slash = own != NULL ? strrchr(own, '/') : NULL;
    char *path = NULL;
    if (*place == '/')
        path = strdup(place);
    else if (slash != NULL && asprintf(&path, "%.*s/%s", (int)(slash - own), own, place) < 0)
        path = NULL;
    free(own);
    return path;
}
