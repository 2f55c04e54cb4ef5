#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t noted;

static void note(int number)
{
    noted = number;
}

void kiln_interrupt_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN)
            continue;
        struct sigaction action = {.sa_handler = note,
                                   .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
        sigemptyset(&action.sa_mask);
        (void)sigaction(numbers[i], &action, NULL);
    }
}

bool kiln_interrupt_pending(void)
{
    return noted != 0;
}

void kiln_interrupt_deliver(void)
{
    if (noted == 0)
        return;
    (void)signal(noted, SIG_DFL);
    (void)raise(noted);
}
