/* A small kernel, for AMDGPU, CUDA and the host: b[i] = 2 a[i] + 1 for i < n; arguments a, b, n. */
#ifndef KILN_TESTS_COMPILER_CODEGEN_SAMPLE_KERNEL_H
#define KILN_TESTS_COMPILER_CODEGEN_SAMPLE_KERNEL_H

#include "compiler/codegen/codegen.h"

struct kiln_kernel sample_kernel(const struct kiln_target *target);
/* The same with another source. */
struct kiln_kernel sample_kernel_with(const char *source);

/* Fails the test when the text is no target. */
struct kiln_target sample_target(const char *text);
/* A codegen with up to 2 workers; `worker` as in struct kiln_codegen_options. */
struct kiln_codegen *sample_codegen(const char *worker, uint32_t timeout_seconds);
/* Skips the test when nothing here compiles for the target. */
void sample_require(struct kiln_codegen *codegen, const struct kiln_target *target);
/* Compiles a source for the target and throws the code away; NULL: the sample's own source. The
 * error is initialised first. */
enum kiln_status sample_compile(struct kiln_codegen *codegen, const char *target_name,
                                const char *source, struct kiln_error *error);
/* Text around the last of macros each of which is the one before it, twice. The caller frees it. */
char *sample_doubling_source(const char *before, const char *element, int doublings,
                             const char *after);

#endif
