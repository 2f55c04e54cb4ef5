/*
 * Threads inside a process that is not ours.
 */
#ifndef KILN_RUNTIME_SUPPORT_THREAD_H
#define KILN_RUNTIME_SUPPORT_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Like pthread_create, with a stack of `stack_bytes` (0: the usual size). The thread takes no
 * signal that is sent to the process: handlers of the host expect to run on threads of the host.
 * Faults of its own (SIGSEGV and the like) it does take, so that crash handlers and sanitizers
 * report them. Returns an error number.
 */
int kiln_thread_start(void *(*run)(void *), void *context, size_t stack_bytes,
                      pthread_t *ret_thread);

#endif
