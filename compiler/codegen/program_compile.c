#include "compiler/codegen/program_compile.h"

#include "compiler/codegen/compile_environment.h"
#include "runtime/support/file.h"
#include "runtime/support/subprocess.h"

#include <assert.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kiln_program_add(struct kiln_program_arguments *arguments, const char *text)
{
    assert(arguments->count + 1 < KILN_PROGRAM_ARGUMENTS);
    arguments->texts[arguments->count++] = text;
    arguments->texts[arguments->count] = NULL;
}

void kiln_program_add_all(struct kiln_program_arguments *arguments, const char *const *texts,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        kiln_program_add(arguments, texts[i]);
}

/* A directory for the files of one run, the environment that points there, and a file name in it.
 */
struct workshop {
    char *directory;
    char **environment;
    char file[PATH_MAX];
};

static void workshop_fini(struct workshop *workshop)
{
    kiln_scratch_directory_destroy(workshop->directory);
    free(workshop->environment);
}

/* Sweeps once per process; workers do so by themselves. */
static void sweep_once(const char *directory)
{
    static atomic_flag is_swept = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_swept))
        kiln_scratch_directory_sweep(directory);
}

static enum kiln_status workshop_init(struct workshop *workshop, const char *name,
                                      const struct kiln_compile_source *source,
                                      struct kiln_error *error)
{
    *workshop = (struct workshop){.directory = kiln_scratch_directory_create(error)};
    if (workshop->directory == NULL)
        return error->status;
    if (source->is_in_process)
        sweep_once(workshop->directory);
    int length =
        snprintf(workshop->file, sizeof workshop->file, "%s/%s", workshop->directory, name);
    workshop->environment = kiln_compile_environment_create(workshop->directory);
    if (workshop->environment == NULL || length < 0 || (size_t)length >= sizeof workshop->file) {
        workshop_fini(workshop);
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while starting a compiler");
    }
    return KILN_OK;
}

static enum kiln_status run_program(const struct kiln_program_arguments *arguments,
                                    const struct workshop *workshop,
                                    const struct kiln_compile_source *source, bool has_input,
                                    size_t output_limit_bytes, struct kiln_buffer *output,
                                    struct kiln_error *error)
{
    struct kiln_subprocess_run run = {
        .arguments = arguments->texts,
        .environment = workshop->environment,
        .input = has_input ? source->text : NULL,
        .input_bytes = has_input ? source->size_bytes : 0,
        .output_limit_bytes = output_limit_bytes,
        .timeout_milliseconds = source->timeout_milliseconds,
        /* In a worker the children stay in its group, which is killed as a whole. */
        .new_group = source->is_in_process,
    };
    struct kiln_subprocess_exit exit = {0};
    enum kiln_status status = kiln_subprocess_run(&run, output, &exit, error);
    if (status != KILN_OK)
        return status;
    if (exit.dropped_bytes != 0)
        kiln_buffer_printf(output, "\n[%llu more bytes]\n", (unsigned long long)exit.dropped_bytes);
    if (exit.signal != 0)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "'%s' was ended by signal %d (%s)",
                              arguments->texts[0], exit.signal, strsignal(exit.signal));
    if (exit.code != 0)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "'%s' ended with exit code %d",
                              arguments->texts[0], exit.code);
    return KILN_OK;
}

enum kiln_status kiln_program_compile(struct kiln_program_arguments *arguments,
                                      const char *const *libraries, size_t library_count,
                                      const struct kiln_compile_source *source,
                                      struct kiln_buffer *object, struct kiln_buffer *log,
                                      struct kiln_error *error)
{
    struct workshop workshop;
    enum kiln_status status = workshop_init(&workshop, "object", source, error);
    if (status != KILN_OK)
        return status;
    kiln_program_add(arguments, "-o");
    kiln_program_add(arguments, workshop.file);
    kiln_program_add_all(arguments, libraries, library_count);
    status =
        run_program(arguments, &workshop, source, true, KILN_COMPILE_LOG_LIMIT_BYTES, log, error);
    struct kiln_buffer content;
    kiln_buffer_init(&content);
    if (status == KILN_OK)
        status = kiln_file_read(workshop.file, KILN_COMPILE_OBJECT_LIMIT_BYTES, &content, error);
    if (status == KILN_NOT_FOUND)
        status = kiln_error_set(error, KILN_COMPILE_FAILED,
                                "'%s' ended without an error and made no code object",
                                arguments->texts[0]);
    if (status == KILN_OK)
        kiln_buffer_append(object, content.data, content.size);
    kiln_buffer_fini(&content);
    workshop_fini(&workshop);
    return status;
}

enum kiln_status kiln_program_disassemble(struct kiln_program_arguments *arguments,
                                          const struct kiln_compile_source *object,
                                          struct kiln_buffer *text, struct kiln_error *error)
{
    struct workshop workshop;
    enum kiln_status status = workshop_init(&workshop, "object", object, error);
    if (status != KILN_OK)
        return status;
    kiln_program_add(arguments, workshop.file);
    status =
        kiln_file_write(workshop.file, object->text, object->size_bytes, KILN_FILE_PRIVATE, error);
    if (status == KILN_OK)
        status = run_program(arguments, &workshop, object, false, KILN_COMPILE_OBJECT_LIMIT_BYTES,
                             text, error);
    workshop_fini(&workshop);
    return status;
}
