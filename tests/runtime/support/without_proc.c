#include "tests/runtime/support/without_proc.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_ALLOWED = 254 };

int without_proc_run(int (*body)(void))
{
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) != 0)
            _exit(NOT_ALLOWED);
        _exit(body());
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) == NOT_ALLOWED)
        return -1;
    return WEXITSTATUS(status);
}
