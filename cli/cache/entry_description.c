#include "cli/cache/entry_description.h"

#include "cache/cache_inventory.h"
#include "runtime/engine/kernel_format.h"
#include "runtime/engine/program_format.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OPERATIONS = 6 }; /* in a summary; runs of equal ones count once */

static void describe_program(const struct kiln_entry_view *view, bool with_payload,
                             struct kiln_entry_description *description)
{
    const void *key = view->key;
    size_t key_bytes = view->key_bytes;
    bool is_choice = kiln_program_key_strip_mark(&key, &key_bytes);
    if (kiln_program_key_read(key, key_bytes, &description->arena, &description->key,
                              &description->reason) != KILN_OK)
        return;
    description->kind = is_choice ? KILN_ENTRY_CHOICE : KILN_ENTRY_PROGRAM;
    description->target = description->key.target;
    description->compile_options = description->key.compile_options;
    if (is_choice)
        (void)kiln_error_set(&description->reason, KILN_UNSUPPORTED,
                             "it is a tuned choice and has no kernels");
    else if (with_payload &&
             kiln_program_format_read(view->payload, view->payload_bytes, &description->key.graph,
                                      &description->program, &description->reason) != KILN_OK)
        description->program = NULL;
}

/* A NUL inside would hide what follows it: then it is none. */
static const char *copy_text(const struct kiln_key_text *text, struct kiln_arena *arena)
{
    bool is_text = memchr(text->text, '\0', text->size) == NULL;
    return is_text ? kiln_arena_strndup(arena, text->text, text->size) : NULL;
}

/* An entry names all compilers that may have made it, "comgr ...; clang ...". The payload of a
 * kernel says which of them has. */
static void choose_compiler(struct kiln_entry_description *description)
{
    const char *name = description->kernel->object.compiler;
    size_t length = strlen(name);
    const char *one = description->compiler;
    while (one && *one != '\0') {
        const char *end = strstr(one, "; ");
        size_t size = end ? (size_t)(end - one) : strlen(one);
        if (length != 0 && size > length && strncmp(one, name, length) == 0 && one[length] == ' ') {
            description->compiler = kiln_arena_strndup(&description->arena, one, size);
            return;
        }
        one = end ? end + 2 : NULL;
    }
}

static void describe_kernel(const struct kiln_entry_view *view, bool with_payload,
                            struct kiln_entry_description *description)
{
    struct kiln_kernel_key *key = &description->kernel_key;
    if (kiln_kernel_key_read(view->key, view->key_bytes, key, &description->reason) != KILN_OK)
        return;
    description->target = copy_text(&key->target, &description->arena);
    description->compile_options = copy_text(&key->compile_options, &description->arena);
    if (description->target == NULL || description->compile_options == NULL) {
        (void)kiln_error_set(&description->reason, KILN_CORRUPT,
                             "its key does not have the texts of a kernel");
        return;
    }
    description->kind = KILN_ENTRY_KERNEL;
    if (with_payload &&
        kiln_kernel_format_read(view->payload, view->payload_bytes, &description->kernel,
                                &description->reason) != KILN_OK)
        description->kernel = NULL;
    if (description->kernel)
        choose_compiler(description);
}

void kiln_entry_describe(const struct kiln_entry_view *view, bool with_payload,
                         struct kiln_entry_description *ret_description)
{
    struct kiln_entry_description *description = ret_description;
    memset(description, 0, sizeof *description);
    kiln_arena_init(&description->arena);
    kiln_error_init(&description->reason);
    const struct kiln_entry_text *compiler = &view->compiler;
    const struct kiln_entry_text *build = &view->build;
    description->compiler = kiln_arena_strndup(&description->arena, compiler->text, compiler->size);
    description->build = kiln_arena_strndup(&description->arena, build->text, build->size);
    if (kiln_kernel_key_is_one(view->key, view->key_bytes))
        describe_kernel(view, with_payload, description);
    else
        describe_program(view, with_payload, description);
}

void kiln_entry_kernel_hex(const struct kiln_compiled_kernel *kernel,
                           char ret_hex[KILN_CACHE_HASH_HEX + 1])
{
    const struct kiln_cache_key key = kiln_cache_key_of_hash(kernel->name);
    kiln_cache_key_hex(&key, ret_hex);
}

bool kiln_entry_attach_kernel(struct kiln_shared_program *program, uint32_t index,
                              const struct kiln_entry_view *view)
{
    struct kiln_shared_kernel *kernel = NULL;
    struct kiln_error ignored;
    bool is_attached = false;
    kiln_error_init(&ignored);
    if (kiln_kernel_key_is_one(view->key, view->key_bytes) &&
        kiln_kernel_format_read(view->payload, view->payload_bytes, &kernel, &ignored) == KILN_OK) {
        kernel->key.hash_high = program->program.kernels[index].name.high;
        kernel->key.hash_low = program->program.kernels[index].name.low;
        is_attached = kiln_shared_program_attach(program, index, kernel);
    }
    kiln_shared_kernel_unref(kernel);
    return is_attached;
}

static bool find_kernel(struct kiln_shared_program *program, uint32_t index,
                        struct kiln_cache_store *store)
{
    struct kiln_buffer entry;
    struct kiln_cache_item item;
    struct kiln_entry_view view;
    struct kiln_error ignored;
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_error_init(&ignored);
    kiln_buffer_init(&entry);
    kiln_entry_kernel_hex(&program->program.kernels[index], hex);
    bool is_found = kiln_cache_store_read(store, hex, &item, &entry, &view, &ignored) == KILN_OK &&
                    kiln_entry_attach_kernel(program, index, &view);
    kiln_buffer_fini(&entry);
    return is_found;
}

uint32_t kiln_entry_find_kernels(struct kiln_entry_description *description,
                                 struct kiln_cache_store *store)
{
    uint32_t missing = 0;
    uint32_t count = description->program ? description->program->program.kernel_count : 0;
    for (uint32_t i = 0; i < count; i++)
        missing += !find_kernel(description->program, i, store);
    return missing;
}

void kiln_entry_description_fini(struct kiln_entry_description *description)
{
    kiln_shared_program_unref(description->program);
    kiln_shared_kernel_unref(description->kernel);
    kiln_arena_fini(&description->arena);
}

static void append_output(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        kiln_buffer_printf(buffer, " -> %s [", kiln_dtype_info(tensor->dtype)->text);
        for (uint32_t j = 0; j < tensor->rank; j++)
            kiln_buffer_printf(buffer, "%s%" PRId64, j ? "," : "", tensor->dims[j]);
        kiln_buffer_append_text(buffer, "]");
        return;
    }
}

void kiln_entry_summary(const struct kiln_entry_description *description,
                        struct kiln_buffer *buffer)
{
    if (description->kind == KILN_ENTRY_KERNEL) {
        kiln_buffer_printf(buffer, "%s%s", description->kernel ? description->kernel->symbol : "",
                           description->kernel && !kiln_shared_kernel_has_code(description->kernel)
                               ? " (it spills: its code was not kept)"
                               : "");
        return;
    }
    if (description->kind == KILN_ENTRY_UNKNOWN)
        return;
    if (description->kind == KILN_ENTRY_CHOICE)
        kiln_buffer_append_text(buffer, "tuned choice: ");
    const struct kiln_graph *graph = &description->key.graph;
    uint32_t shown = 0;
    uint32_t at = 0;
    while (at < graph->node_count && shown < MOST_OPERATIONS) {
        const char *operation = kiln_node_operation(&graph->nodes[at]);
        uint32_t run = 1;
        while (at + run < graph->node_count &&
               strcmp(kiln_node_operation(&graph->nodes[at + run]), operation) == 0)
            run++;
        kiln_buffer_printf(buffer, "%s%s", shown ? ", " : "", operation);
        if (run > 1)
            kiln_buffer_printf(buffer, " x%" PRIu32, run);
        at += run;
        shown++;
    }
    if (at < graph->node_count)
        kiln_buffer_printf(buffer, ", %" PRIu32 " more", graph->node_count - at);
    append_output(graph, buffer);
}

bool kiln_entry_is_for(const struct kiln_entry_description *description, const char *target)
{
    if (!description->target)
        return false;
    size_t length = strlen(target);
    const char *name = description->target;
    bool has_level = strchr(target, ':') != NULL;
    return strncmp(name, target, length) == 0 &&
           (name[length] == '\0' || (name[length] == ':' && !has_level));
}
