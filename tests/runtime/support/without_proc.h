/* A process from which /proc is hidden, as in a chroot or a sandbox. */
#ifndef KILN_TESTS_RUNTIME_SUPPORT_WITHOUT_PROC_H
#define KILN_TESTS_RUNTIME_SUPPORT_WITHOUT_PROC_H

/*
 * Runs `body` in a child process, in a name space of its own in which /proc is empty. Returns what
 * body returned (0..253), or -1 where the machine does not allow that or the child died. No
 * assertion of the test framework in `body`.
 */
int without_proc_run(int (*body)(void));

#endif
