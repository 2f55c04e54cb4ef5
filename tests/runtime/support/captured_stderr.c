#include "tests/runtime/support/captured_stderr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int file = -1;

void captured_stderr_start(void)
{
    file = memfd_create("stderr", MFD_CLOEXEC);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0)
        abort();
}

const char *captured_stderr_text(void)
{
    static char text[8192];
    (void)fflush(stderr);
    ssize_t size = pread(file, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

unsigned captured_stderr_count(const char *part)
{
    unsigned count = 0;
    for (const char *at = captured_stderr_text(); (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}
