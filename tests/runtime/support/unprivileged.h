/* Permissions bind everybody but root, and tests are often run by root. */
#ifndef KILN_TESTS_RUNTIME_SUPPORT_UNPRIVILEGED_H
#define KILN_TESTS_RUNTIME_SUPPORT_UNPRIVILEGED_H

/*
 * Runs `body` in a child process, and when this one is root as another user to whom `directory` is
 * given first. Returns what body returned (0..255), or -1 when the child died. No assertion of the
 * test framework in `body`.
 */
int unprivileged_run(const char *directory, int (*body)(void));

#endif
