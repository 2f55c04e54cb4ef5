#include "runtime/support/own_path.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* As the dynamic linker calls the library; NULL in a program. */
static const char *library_name(void)
{
    static const char anchor;
    Dl_info info;
    struct link_map *map = NULL;
    /* The dynamic linker gives the main program no name. */
    bool is_library = dladdr1(&anchor, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL &&
                      map->l_name != NULL && *map->l_name != '\0';
    return is_library ? map->l_name : NULL;
}

/* A relative name is resolved while the library is loaded: a host may change its working directory
 * later. */
static char *loaded_path;

__attribute__((constructor)) static void resolve_relative_name(void)
{
    const char *name = library_name();
    if (name != NULL && *name != '/')
        loaded_path = realpath(name, NULL);
}

__attribute__((destructor)) static void free_loaded_path(void)
{
    free(loaded_path);
}

char *kiln_own_path(bool *ret_is_program)
{
    const char *name = library_name();
    if (ret_is_program != NULL)
        *ret_is_program = name == NULL;
    if (name != NULL && *name != '/')
        return loaded_path != NULL ? strdup(loaded_path) : NULL;
    if (name != NULL)
        return realpath(name, NULL);
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
