/*
 * One interface for all compilers. Rows in compilers.def, in order of preference for each kind of
 * target.
 *
 * `find` looks on disk only, cheaply, in the process that wants kernels; everything else runs where
 * compilers may run: in the worker, or in this process with KILN_COMPILE_IN_PROCESS=1. A compiler
 * found in one process is handed to another as its three texts; before it compiles it checks that
 * the files are still those that the identity names.
 *
 * Which compiler serves a target is decided by the compilers themselves (comgr lists its
 * processors), so it is a function of their identities: the identity of a target is made of all of
 * its candidates, and a warm run asks nobody.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILER_H
#define KILN_COMPILER_CODEGEN_COMPILER_H

#include "compiler/codegen/target.h"
#include "runtime/support/buffer.h"
#include "runtime/support/environment.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>

struct kiln_compiler_ops;

struct kiln_compiler {
    const struct kiln_compiler_ops *ops;
    char *path;     /* library or program, links resolved; owned */
    char *identity; /* one line: version, build ids, options; no path; owned */
};

struct kiln_compile_source {
    const char *symbol;
    const char *text;
    size_t size_bytes;
    uint32_t timeout_milliseconds; /* of programs that are started; 0: whoever runs us watches the
                                      time */
    bool is_in_process;            /* not in a worker: TMPDIR and environment are somebody else's */
};

struct kiln_compiler_ops {
    const char *name; /* "comgr" */
    enum kiln_target_kind kind;
    const char *hint; /* how to get this compiler, for error messages */
    /* What Kiln asks of this compiler, wherever it is: a word that is raised whenever the options
     * change. Part of cache keys and of the identity; constant. */
    const char *(*options)(void);
    /* Fills path and identity. KILN_NOT_FOUND when this compiler is not here, KILN_NO_MEMORY. */
    enum kiln_status (*find)(struct kiln_compiler *ret_compiler, struct kiln_error *error);
    /* True if it compiles for the target. May load or start the compiler; remembered by the
     * implementation. */
    enum kiln_status (*serves)(const struct kiln_compiler *compiler,
                               const struct kiln_target *target, bool *ret_serves,
                               struct kiln_error *error);
    /* Optional, where `serves` does not start the compiler: KILN_OK if it works. */
    enum kiln_status (*try_out)(const struct kiln_compiler *compiler,
                                const struct kiln_target *target, bool is_in_process,
                                struct kiln_error *error);
    /* Appends the code object to `object` and what the compiler said to `log`. KILN_COMPILE_FAILED
     * when it refuses. */
    enum kiln_status (*compile)(const struct kiln_compiler *compiler,
                                const struct kiln_target *target,
                                const struct kiln_compile_source *source,
                                struct kiln_buffer *object, struct kiln_buffer *log,
                                struct kiln_error *error);
    /* Appends the instructions of a code object as text. */
    enum kiln_status (*disassemble)(const struct kiln_compiler *compiler,
                                    const struct kiln_target *target,
                                    const struct kiln_compile_source *object,
                                    struct kiln_buffer *text, struct kiln_error *error);
};

enum {
    KILN_COMPILER_LIMIT = 8, /* rows of compilers.def at most */
    KILN_COMPILE_OBJECT_LIMIT_BYTES = 256 << 20,
    KILN_COMPILE_LOG_LIMIT_BYTES = 64 << 10,
};

size_t kiln_compiler_count(void);
const struct kiln_compiler_ops *kiln_compiler_at(size_t index);
/* NULL when there is none of that name. */
const struct kiln_compiler_ops *kiln_compiler_by_name(const char *name);

/*
 * For `find` of compilers: the path that `search` (kiln_library_find, kiln_program_find) gives for
 * the name that the environment sets, or else for the first of `names`, which end with NULL, that
 * is there. NULL with a filled error when there is none; `what` is the subject of its sentence.
 */
char *kiln_compiler_search(char *(*search)(const char *name),
                           enum kiln_environment_variable configured, const char *const *names,
                           const char *what, struct kiln_error *error);

/*
 * The end of `find`: fills path and identity. The identity is `start`, then what
 * identifies the file `path` and, unless NULL, the program `linker`. Takes `path`, also on failure.
 * KILN_NOT_FOUND when a file cannot be read, KILN_NO_MEMORY.
 */
enum kiln_status kiln_compiler_adopt(struct kiln_compiler *ret_compiler, char *path,
                                     const char *linker, const char *start,
                                     struct kiln_error *error);

void kiln_compiler_fini(struct kiln_compiler *compiler);

#endif
