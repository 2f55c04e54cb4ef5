#include "tests/runtime/support/unprivileged.h"

#include <grp.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER_USER = 65534 };

int unprivileged_run(const char *directory, int (*body)(void))
{
    if (geteuid() == 0 && chown(directory, OTHER_USER, OTHER_USER) != 0)
        return -1;
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        if (geteuid() == 0 &&
            (setgroups(0, NULL) != 0 || setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0))
            _exit(255);
        _exit(body());
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}
