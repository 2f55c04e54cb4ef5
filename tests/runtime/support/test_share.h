/*
 * The part of a test's long sweep that a run has.
 *
 * A build of every kind runs the tests, and some of them spend their time in compilers and file
 * systems, which are the same for all. KILN_TEST_SHARE=I/N leaves such a test the I-th of N parts
 * of its cases; unset, or anything else, it runs them all. CMake sets it, see scripts/README.md.
 */
#ifndef KILN_TESTS_RUNTIME_SUPPORT_TEST_SHARE_H
#define KILN_TESTS_RUNTIME_SUPPORT_TEST_SHARE_H

#include <stdbool.h>

/* True if case `number`, from 0 on, is in the part of this run. */
bool test_share_has(unsigned long number);

#endif
