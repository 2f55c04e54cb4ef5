/* A directory of a test's own, removed with everything in it. */
#ifndef KILN_TESTS_RUNTIME_SUPPORT_TEMPORARY_DIRECTORY_H
#define KILN_TESTS_RUNTIME_SUPPORT_TEMPORARY_DIRECTORY_H

/* Makes the directory (mode 0700, under $TMPDIR or /tmp). Returns its path, valid until the end of
 * the process, or NULL. One per process. */
const char *temporary_directory_make(void);
void temporary_directory_remove(void);

/* Criterion runs no tear-down after a test that skips itself. */
#define skip_test(reason)                                                                          \
    do {                                                                                           \
        temporary_directory_remove();                                                              \
        cr_skip_test(reason);                                                                      \
    } while (0)

/* The path of `name` inside. A few calls later the memory is used again. */
const char *temporary_path(const char *name);
/* How many names a directory has besides "." and ".."; -1 when it cannot be read. */
int directory_count(const char *path);

#endif
