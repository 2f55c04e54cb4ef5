/*
 * One piece of work for compilers, whoever does it: the worker, a thread of this process, and the
 * bytes that carry it from one to the other.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILE_JOB_H
#define KILN_COMPILER_CODEGEN_COMPILE_JOB_H

#include "compiler/codegen/toolchain.h"

#include <stddef.h>

enum kiln_compile_task {
    KILN_COMPILE_TASK_COMPILE = 1, /* source -> code object */
    KILN_COMPILE_TASK_QUERY = 2,   /* which compiler serves the target: `compiler` of the result */
    KILN_COMPILE_TASK_DISASSEMBLE = 3, /* code object -> text */
};

struct kiln_compile_request {
    enum kiln_compile_task task;
    struct kiln_target target;
    const struct kiln_compiler *compilers; /* candidates for the target, in order of preference */
    size_t compiler_count;
    struct kiln_compile_source source;
};

struct kiln_compile_result {
    enum kiln_status status;
    struct kiln_error error;   /* when status is not KILN_OK */
    struct kiln_buffer object; /* code object or text */
    struct kiln_buffer log;    /* what the compiler said */
    char compiler[16];         /* which one did it; "" when it came to none */
    uint64_t cpu_ns; /* CPU time that this took the compiler and the programs that it started */
};

void kiln_compile_result_init(struct kiln_compile_result *result);
void kiln_compile_result_fini(struct kiln_compile_result *result);

/* Does the work on the calling thread, whose stack has to be KILN_COMPILE_STACK_BYTES. */
void kiln_compile_job_do(const struct kiln_compile_request *request,
                         struct kiln_compile_result *result);
/* Does it on a thread of its own. */
void kiln_compile_job_run(const struct kiln_compile_request *request,
                          struct kiln_compile_result *result);

/* Stack of a thread that LLVM's recursion fits in: clang recurses with the nesting of the source,
 * and 2,000 parentheses have overflowed smaller ones. Only what is touched is used. */
#define KILN_COMPILE_STACK_BYTES ((size_t)256 << 20)

#endif
