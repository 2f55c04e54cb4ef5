/*
 * A GPU's library, HIP's runtime or CUDA's driver, opened at run time: Kiln builds and loads
 * without either.
 */
#ifndef KILN_RUNTIME_DEVICE_GPU_LIBRARY_H
#define KILN_RUNTIME_DEVICE_GPU_LIBRARY_H

#include "runtime/support/environment.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What every function of both libraries returns when it succeeds, and when the library has it but
 * does not do it. */
enum { KILN_GPU_SUCCESS = 0, KILN_GPU_NOT_SUPPORTED = 801 };

struct kiln_gpu_library;

/* Which library: one constant per kind. */
struct kiln_gpu_library_kind {
    const char *title;                       /* in messages: "HIP", "CUDA" */
    const char *const *names;                /* files, the preferred first; ends with NULL */
    const char *names_text;                  /* the same in messages */
    const char *install_hint;                /* what to do where none is found */
    enum kiln_environment_variable variable; /* that may name another file */
    /* The library's own text for a code; NULL when it has none. */
    const char *(*error_text)(const struct kiln_gpu_library *library, int code);
};

/* Head of a library with its functions, which embeds it as first member. */
struct kiln_gpu_library {
    const struct kiln_gpu_library_kind *kind;
    void *handle; /* of dlopen */
};

/*
 * Opens a library: one that the process has loaded already, so that Kiln and the application share
 * one, else what the variable names, else the first of `names` that is there. KILN_UNSUPPORTED with
 * a sentence when there is none; KILN_SHORTAGE or KILN_NO_MEMORY when it could not be looked for.
 */
enum kiln_status kiln_gpu_library_open(const struct kiln_gpu_library_kind *kind,
                                       struct kiln_gpu_library *ret_library,
                                       struct kiln_error *error) KILN_NODISCARD;
/* Writes a function's address to `ret_function`, a pointer to a function pointer; KILN_UNSUPPORTED
 * when the library has none of that name. */
enum kiln_status kiln_gpu_library_find(const struct kiln_gpu_library *library, const char *symbol,
                                       void *ret_function, struct kiln_error *error) KILN_NODISCARD;
/* The path of the file that was opened; empty when the dynamic linker does not tell. */
void kiln_gpu_library_path(const struct kiln_gpu_library *library, char *ret_path, size_t bytes);
/* Drops the handle; nothing when there is none. The library itself stays in the process: it does
 * not survive being unloaded. */
void kiln_gpu_library_close(struct kiln_gpu_library *library);

/* True if a code says that the code object, or the name in it, that a call was given is at fault.
 * All others, unknown ones too, may be the device's or its memory's, which pass. */
bool kiln_gpu_blames_object(int code);

/* KILN_OK for success, else KILN_DEVICE (KILN_NO_MEMORY when the device is out of it) and a
 * sentence: `action`, then the library's own text and number. `action` says what was being done,
 * "loading kernel 'k'". */
enum kiln_status kiln_gpu_check(const struct kiln_gpu_library *library, int code,
                                struct kiln_error *error, const char *action, ...)
    KILN_PRINTF(4, 5) KILN_NODISCARD;

#endif
