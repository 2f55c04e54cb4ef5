/*
 * From kernel source to code object, through whichever compiler serves the target.
 *
 * Compilers never run in this process: a pool of kiln-compile workers does the work
 * (compiler/codegen/compile_service.h), except with KILN_COMPILE_IN_PROCESS=1. kiln_codegen_create
 * starts nothing; workers start with the first compile and end with the last reference. Any number
 * of threads may compile at once; each waits for a free worker.
 */
#ifndef KILN_COMPILER_CODEGEN_CODEGEN_H
#define KILN_COMPILER_CODEGEN_CODEGEN_H

#include "compiler/codegen/target.h"
#include "compiler/kernel.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

struct kiln_codegen; /* opaque, ref-counted */

struct kiln_codegen_options {
    const char *worker_path;  /* kiln-compile; NULL: found relative to this library, or
                                 KILN_COMPILE_WORKER */
    uint32_t max_workers;     /* 0: KILN_COMPILE_WORKERS, else 2 */
    uint32_t timeout_seconds; /* of one kernel; 0: KILN_COMPILE_TIMEOUT, else 60 */
};

/* What the compiler made of one kernel, read from the code object's metadata (AMDGPU) or attributes
 * (CUDA: no sgprs and no spill counts; scratch holds what is spilled); zero for the host. */
struct kiln_kernel_resources {
    uint32_t vgprs;
    uint32_t sgprs;
    uint32_t lds_bytes;
    /* Private memory per work-item that the code touches; 0 when it touches none, whatever the
     * metadata reserve. */
    uint32_t scratch_bytes;
    uint32_t vgpr_spills;
    uint32_t sgpr_spills;
    uint32_t kernarg_bytes;
    uint32_t wave_size;
};

enum { KILN_COMPILER_NAME_BYTES = 16 };

/* One compiled kernel. `bytes` is owned by the caller: kiln_code_object_fini. */
struct kiln_code_object {
    unsigned char *bytes; /* AMDGPU: ELF code object; CUDA: CUBIN; host: ELF shared object */
    size_t size;
    struct kiln_kernel_resources resources;
    char compiler[KILN_COMPILER_NAME_BYTES]; /* the one that made it, as "clang" */
    /* CPU time that the compiler took, without the time that the kernel waited for it; 0 if this
     * process did not compile it. */
    uint64_t compile_ns;
};

enum kiln_status kiln_codegen_create(const struct kiln_codegen_options *options,
                                     struct kiln_codegen **ret_codegen,
                                     struct kiln_error *error) KILN_NODISCARD;
struct kiln_codegen *kiln_codegen_ref(struct kiln_codegen *codegen);
void kiln_codegen_unref(struct kiln_codegen *codegen);

/* Appends what Kiln asks of the compilers for `target`, whichever of them are here: the names and
 * the versions of their options. Part of cache keys: it can change what becomes of a source. */
void kiln_codegen_append_options(const struct kiln_target *target, struct kiln_buffer *buffer);

/*
 * The identity of the compilers for `target` here: kind, version, path-independent build ids and
 * options of all that may serve it, in order of preference; which of them does is a function of
 * that. A fact about cache entries, no part of their keys. Found without starting any compiler,
 * remembered per codegen. KILN_UNSUPPORTED with a hint when there is no compiler for this kind of
 * target. That one is there does not promise that it knows the processor: kiln_codegen_compiler and
 * kiln_codegen_compile tell. `ret_identity` belongs to the codegen.
 */
enum kiln_status kiln_codegen_identity(struct kiln_codegen *codegen,
                                       const struct kiln_target *target, const char **ret_identity,
                                       struct kiln_error *error) KILN_NODISCARD;

/* Which compiler serves the target here: "comgr", "clang", "nvrtc" or "host". Asks the compilers,
 * so it may start a worker. KILN_UNSUPPORTED with a hint when none does. */
enum kiln_status kiln_codegen_compiler(struct kiln_codegen *codegen,
                                       const struct kiln_target *target,
                                       char ret_name[KILN_COMPILER_NAME_BYTES],
                                       struct kiln_error *error) KILN_NODISCARD;

/*
 * Compiles one kernel and checks the code object against what the recipe promises: ELF machine and
 * flags, the entry symbol, kernarg size 8*argument_count, LDS, block size. A compiler's refusal
 * gives KILN_COMPILE_FAILED with the source line and the log.
 */
enum kiln_status kiln_codegen_compile(struct kiln_codegen *codegen,
                                      const struct kiln_target *target,
                                      const struct kiln_kernel *kernel,
                                      struct kiln_code_object *ret_object,
                                      struct kiln_error *error) KILN_NODISCARD;

/*
 * For who gives up on a kernel that does not compile: writes its source to a file in KILN_DUMP_DIR
 * or the directory for temporary files, and adds a hint to `error` that names it. The name depends
 * on the source, so that failing again makes no second file. What cannot be written is warned of.
 */
void kiln_codegen_dump_source(const struct kiln_kernel *kernel, struct kiln_error *error);

void kiln_code_object_fini(struct kiln_code_object *object);

/* Number of worker processes started so far and of kernels compiled: "did a warm run start a
 * compiler?" */
struct kiln_codegen_counters {
    uint64_t workers_started;
    uint64_t kernels_compiled;
};
void kiln_codegen_counters(const struct kiln_codegen *codegen,
                           struct kiln_codegen_counters *ret_counters);

#endif
