#include "runtime/support/own_path.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(own_path, .timeout = 20);

Test(own_path, of_a_program)
{
    bool is_program = false;
    char *expected = realpath("/proc/self/exe", NULL);
    char *path = kiln_own_path(&is_program);
    cr_assert_str_eq(path, expected);
    cr_assert(is_program);
    free(path);
    free(expected);
}

/* Hosts may load a plugin by a relative path and change their working directory before it is used.
 */
Test(own_path, of_a_library_does_not_depend_on_the_working_directory)
{
    char copy[] = OWN_PATH_MODULE;
    char name[512];
    char *expected = realpath(OWN_PATH_MODULE, NULL);
    cr_assert_not_null(expected);
    (void)snprintf(name, sizeof name, "./%s", strrchr(OWN_PATH_MODULE, '/') + 1);
    cr_assert_eq(chdir(dirname(copy)), 0);
    const char *const names[] = {name, expected};
    for (size_t i = 0; i < 2; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        cr_assert_not_null(library, "%s", dlerror());
        char *(*own_path_of_module)(void);
        void *symbol = dlsym(library, "own_path_of_module");
        memcpy(&own_path_of_module, &symbol, sizeof symbol);
        cr_assert_eq(chdir("/"), 0);
        char *path = own_path_of_module();
        cr_expect_str_eq(path ? path : "nothing", expected);
        free(path);
        cr_assert_eq(dlclose(library), 0);
    }
    free(expected);
}
