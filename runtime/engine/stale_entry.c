#include "runtime/engine/stale_entry.h"

#include "compiler/codegen/codegen.h"
#include "compiler/program.h"
#include "runtime/engine/kernel_key.h"
#include "runtime/engine/program_key.h"
#include "runtime/support/arena.h"

#include <string.h>

/* True where this build compiles for the target with these options. The host's options
 * depend on the environment. */
static bool has_options(const struct kiln_key_text *target_text,
                        const struct kiln_key_text *options, struct kiln_arena *arena)
{
    struct kiln_error ignored;
    struct kiln_target target;
    struct kiln_buffer ours;
    kiln_error_init(&ignored);
    const char *name = kiln_arena_strndup(arena, target_text->text, target_text->size);
    if (!name || kiln_target_parse(name, &target, &ignored) != KILN_OK)
        return false;
    if (target.kind == KILN_TARGET_HOST)
        return true;
    kiln_buffer_init(&ours);
    kiln_codegen_append_options(&target, &ours);
    bool is_equal = options->size == ours.size && memcmp(options->text, ours.data, ours.size) == 0;
    kiln_buffer_fini(&ours);
    return is_equal;
}

static const char *reason_of_status(enum kiln_status status)
{
    return status == KILN_UNSUPPORTED ? "another format" : "no key of this build";
}

static enum kiln_status judge_kernel(const struct kiln_entry_view *view, struct kiln_arena *arena,
                                     const char **ret_reason, struct kiln_error *error)
{
    struct kiln_kernel_key key;
    bool is_ours = false;
    enum kiln_status status = kiln_kernel_key_read(view->key, view->key_bytes, &key, error);
    if (status == KILN_NO_MEMORY)
        return status;
    if (status) {
        *ret_reason = reason_of_status(status);
    } else if (!has_options(&key.target, &key.compile_options, arena)) {
        *ret_reason = "other compile options";
    } else {
        status = kiln_kernel_key_check_source(&key, &is_ours, error);
        if (status)
            return status;
        *ret_reason = is_ours ? NULL : "other templates";
    }
    return KILN_OK;
}

static enum kiln_status judge_program(const struct kiln_entry_view *view, struct kiln_arena *arena,
                                      const char **ret_reason, struct kiln_error *error)
{
    struct kiln_program_key key;
    const void *bytes = view->key;
    size_t size = view->key_bytes;
    (void)kiln_program_key_strip_mark(&bytes, &size);
    enum kiln_status status = kiln_program_key_read(bytes, size, arena, &key, error);
    if (status == KILN_NO_MEMORY)
        return status;
    if (status) {
        *ret_reason = reason_of_status(status);
        return KILN_OK;
    }
    const struct kiln_key_text target = {key.target, strlen(key.target)};
    const struct kiln_key_text options = {key.compile_options, strlen(key.compile_options)};
    if (strcmp(key.templates_digest, kiln_templates_digest()) != 0)
        *ret_reason = "other templates or generators";
    else if (!has_options(&target, &options, arena))
        *ret_reason = "other compile options";
    else
        *ret_reason = NULL;
    return KILN_OK;
}

enum kiln_status kiln_entry_judge_stale(const struct kiln_entry_view *view, const char **ret_reason,
                                        struct kiln_error *error)
{
    struct kiln_error judgement;
    struct kiln_arena arena;
    kiln_error_init(&judgement);
    kiln_arena_init(&arena);
    enum kiln_status status = kiln_kernel_key_is_one(view->key, view->key_bytes)
                                  ? judge_kernel(view, &arena, ret_reason, &judgement)
                                  : judge_program(view, &arena, ret_reason, &judgement);
    kiln_arena_fini(&arena);
    if (status)
        *error = judgement;
    return status;
}
