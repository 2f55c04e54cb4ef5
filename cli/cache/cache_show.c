/*
 * kiln cache show: one entry, all that can be said of it.
 */
#include "cli/cache/cache_action.h"
#include "cli/cache/entry_description.h"
#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/table.h"
#include "runtime/support/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shown {
    struct kiln_cache_item item;
    struct kiln_entry_view view;
    struct kiln_entry_description description;
    const char *place; /* path of the directory or layer */
    uint32_t missing;  /* kernels of the program that are in no cache */
    char **files;      /* owned, as are the paths: of the extracted kernels; NULL: none */
};

static const char *const role_texts[] = {
    [KILN_TENSOR_INPUT] = "input",
    [KILN_TENSOR_OUTPUT] = "output",
    [KILN_TENSOR_VIRTUAL] = "virtual",
    [KILN_TENSOR_CONSTANT] = "constant",
    [KILN_TENSOR_HOST_SCALAR] = "host_scalar",
};

/* What is printed and extracted of a kernel, whichever kind of entry tells of it. */
struct shown_kernel {
    const char *symbol;
    const uint32_t *grid; /* NULL: a program says */
    const uint32_t *block;
    uint32_t lds_bytes;
    uint32_t argument_count;
    const struct kiln_code_object *object;
    char hex[KILN_CACHE_HASH_HEX + 1];
};

static uint32_t kernel_count(const struct shown *shown)
{
    if (shown->description.kernel)
        return 1;
    return shown->description.program ? shown->description.program->program.kernel_count : 0;
}

static struct shown_kernel kernel_at(const struct shown *shown, uint32_t index)
{
    const struct kiln_shared_kernel *kernel = shown->description.kernel;
    if (kernel) {
        struct shown_kernel alone = {
            kernel->symbol,  NULL, kernel->block, kernel->lds_bytes, kernel->argument_count,
            &kernel->object, ""};
        memcpy(alone.hex, shown->item.hex, sizeof alone.hex);
        return alone;
    }
    const struct kiln_compiled_kernel *recipe = &shown->description.program->program.kernels[index];
    struct shown_kernel named = {recipe->symbol,
                                 recipe->grid,
                                 recipe->block,
                                 recipe->lds_bytes,
                                 recipe->argument_count,
                                 &recipe->object,
                                 ""};
    kiln_entry_kernel_hex(recipe, named.hex);
    return named;
}

/* How files of code objects end, as vendors call them. */
static const char *code_suffix(const char *target)
{
    if (strncmp(target, "host", 4) == 0)
        return "so";
    return strncmp(target, "sm_", 3) == 0 ? "cubin" : "hsaco";
}

/* A symbol is a C identifier by now: the program was validated. */
static enum kiln_status extract(struct shown *shown, const char *directory,
                                struct kiln_error *error)
{
    enum kiln_status status = kiln_directory_make(directory, 0777, error);
    uint32_t count = kernel_count(shown);
    shown->files = kiln_cli_calloc(count, sizeof *shown->files);
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        const struct shown_kernel kernel = kernel_at(shown, i);
        struct kiln_buffer path;
        if (kernel.object->size == 0)
            continue;
        kiln_buffer_init(&path);
        kiln_buffer_printf(&path, "%s/%s.%s", directory, kernel.symbol,
                           code_suffix(shown->description.target));
        status = kiln_buffer_check(&path, error);
        if (status == KILN_OK)
            status = kiln_file_write(path.data, kernel.object->bytes, kernel.object->size,
                                     KILN_FILE_FOLLOW, error);
        if (status == KILN_OK)
            shown->files[i] = kiln_cli_strdup(path.data);
        kiln_buffer_fini(&path);
    }
    return status;
}

static void print_label(const char *label)
{
    printf("%-10s ", label);
}

static void print_text(const char *label, const char *text)
{
    print_label(label);
    kiln_text_write(stdout, text, false);
    putchar('\n');
}

static void print_options(const struct kiln_lower_options *options)
{
    print_label("options");
    static const struct kiln_contraction_options chosen;
    bool is_forced = memcmp(&options->contraction, &chosen, sizeof chosen) != 0;
    if (!options->no_fusion && !options->max_vector_elements && !options->host_wave_size &&
        !options->max_groups && !options->skipped_forms && !options->max_part_weight &&
        !options->workspace_limit && !is_forced && options->shapes == KILN_SHAPES_CONSTANT)
        fputs("default", stdout);
    const char *gap = "";
    if (options->no_fusion) {
        fputs("no fusion", stdout);
        gap = ", ";
    }
    if (options->max_vector_elements) {
        printf("%svectors of at most %" PRIu32 " elements", gap, options->max_vector_elements);
        gap = ", ";
    }
    if (options->host_wave_size) {
        printf("%sas for waves of %" PRIu32, gap, options->host_wave_size);
        gap = ", ";
    }
    if (options->max_groups) {
        printf("%slaunches of at most %" PRIu32 " work-groups", gap, options->max_groups);
        gap = ", ";
    }
    if (options->skipped_forms) {
        printf("%sform %" PRIu32 " of schedules", gap, options->skipped_forms + 1);
        gap = ", ";
    }
    if (options->max_part_weight) {
        printf("%sparts of at most weight %" PRIu32, gap, options->max_part_weight);
        gap = ", ";
    }
    if (options->workspace_limit) {
        printf("%sa workspace of at most %" PRIu64 " bytes", gap, options->workspace_limit);
        gap = ", ";
    }
    if (is_forced) {
        printf("%sa forced schedule of matrix products", gap);
        gap = ", ";
    }
    if (options->shapes == KILN_SHAPES_ARGUMENT)
        printf("%sshapes are arguments", gap);
    putchar('\n');
}

static void print_dims(const int64_t *items, uint32_t count)
{
    putchar('[');
    for (uint32_t i = 0; i < count; i++)
        printf("%s%" PRId64, i ? "," : "", items[i]);
    putchar(']');
}

/* What goes in and out; constants and virtual tensors are counted only. */
static void print_graph(const struct shown *shown)
{
    const struct kiln_graph *graph = &shown->description.key.graph;
    struct kiln_buffer summary;
    kiln_buffer_init(&summary);
    kiln_entry_summary(&shown->description, &summary);
    printf("%-10s %" PRIu32 " %s, %" PRIu32 " %s: ", "graph", graph->node_count,
           KILN_NOUN(graph->node_count, "node"), graph->tensor_count,
           KILN_NOUN(graph->tensor_count, "tensor"));
    kiln_text_write(stdout, kiln_buffer_text(&summary), false);
    putchar('\n');
    kiln_buffer_fini(&summary);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role == KILN_TENSOR_VIRTUAL || tensor->role == KILN_TENSOR_CONSTANT)
            continue;
        printf("%-10s %%%" PRIu32 " %s ",
               tensor->role == KILN_TENSOR_HOST_SCALAR ? "  scalar"
               : tensor->role == KILN_TENSOR_INPUT     ? "  input"
                                                       : "  output",
               i, kiln_dtype_info(tensor->dtype)->text);
        print_dims(tensor->dims, tensor->rank);
        fputs(" strides ", stdout);
        print_dims(tensor->strides, tensor->rank);
        putchar('\n');
    }
}

static void add_count(struct kiln_table *table, uint32_t value, bool known)
{
    if (known)
        kiln_table_add(table, "%" PRIu32, value);
    else
        kiln_table_add(table, "-");
}

static void print_kernels(const struct shown *shown)
{
    static const char *const headings[] = {"KEY",   "KERNEL", "GRID",   "BLOCK", "LDS",
                                           "VGPRS", "SGPRS",  "SPILLS", "CODE"};
    enum { SHORT_HEX = 12 };
    struct kiln_table table;
    kiln_table_init(&table, sizeof headings / sizeof *headings, 0x1f0);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (uint32_t i = 0; i < kernel_count(shown); i++) {
        const struct shown_kernel kernel = kernel_at(shown, i);
        const struct kiln_kernel_resources *resources = &kernel.object->resources;
        bool known = resources->vgprs != 0; /* the host's kernels have none to speak of */
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        kiln_table_add(&table, "%.*s", SHORT_HEX, kernel.hex);
        kiln_table_add(&table, "%s", kernel.symbol);
        if (kernel.grid)
            kiln_table_add(&table, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, kernel.grid[0],
                           kernel.grid[1], kernel.grid[2]);
        else
            kiln_table_add(&table, "-");
        kiln_table_add(&table, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, kernel.block[0], kernel.block[1],
                       kernel.block[2]);
        if (kernel.object->size || shown->description.kernel)
            kiln_table_add(&table, "%s", kiln_text_bytes(bytes, kernel.lds_bytes));
        else
            kiln_table_add(&table, "-");
        add_count(&table, resources->vgprs, known);
        add_count(&table, resources->sgprs, known);
        add_count(&table, resources->vgpr_spills + resources->sgpr_spills, known);
        if (kernel.object->size)
            kiln_table_add(&table, "%s", kiln_text_bytes(bytes, kernel.object->size));
        else
            kiln_table_add(&table, shown->description.kernel ? "not kept" : "missing");
    }
    putchar('\n');
    kiln_table_print(&table);
    kiln_table_fini(&table);
    if (shown->files)
        putchar('\n');
    for (uint32_t i = 0; shown->files && i < kernel_count(shown); i++)
        if (shown->files[i])
            print_text("written", shown->files[i]);
}

static void print_maker(const char *name, const char *text)
{
    print_text(name, text && *text ? text : "unknown");
}

static void print_shown(const struct shown *shown)
{
    const struct kiln_entry_description *description = &shown->description;
    char bytes[3][KILN_TEXT_AMOUNT_BYTES];
    print_text("key", shown->item.hex);
    print_text("where", shown->place);
    printf("%-10s %s: key %s, payload %s\n", "size", kiln_text_bytes(bytes[0], shown->item.bytes),
           kiln_text_bytes(bytes[1], shown->view.key_bytes),
           kiln_text_bytes(bytes[2], shown->view.payload_bytes));
    if (shown->item.last_use_s) {
        time_t seconds = (time_t)shown->item.last_use_s;
        struct tm fields;
        char date[64];
        if (localtime_r(&seconds, &fields) &&
            strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S %z", &fields))
            print_text("last use", date);
    }
    print_maker("compiler", description->compiler);
    print_maker("build", description->build);
    if (description->kind == KILN_ENTRY_UNKNOWN) {
        print_text("unknown", description->reason.text);
        return;
    }
    print_text("target", description->target);
    if (description->kind == KILN_ENTRY_KERNEL) {
        print_text("flags", description->compile_options);
        printf("%-10s %" PRIu32 "\n", "format", description->kernel_key.format_version);
        printf("%-10s %s\n", "source",
               kiln_text_bytes(bytes[0], description->kernel_key.source_bytes));
        if (description->kernel)
            print_kernels(shown);
        else
            print_text("unusable", description->reason.text);
        return;
    }
    print_text("templates", description->key.templates_digest);
    printf("%-10s %" PRIu32 "\n", "format", description->key.format_version);
    print_text("flags", description->compile_options);
    print_options(&description->key.options);
    print_graph(shown);
    if (!description->program) {
        print_text("unusable", description->reason.text);
        return;
    }
    printf("%-10s %s\n", "workspace",
           kiln_text_bytes(bytes[0], description->program->program.workspace_bytes));
    print_kernels(shown);
}

static json_t *numbers_json(const int64_t *items, uint32_t count)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < count; i++)
        kiln_json_append(array, json_integer((json_int_t)items[i]));
    return array;
}

static json_t *sizes_json(const uint32_t *items, uint32_t count)
{
    json_t *array = kiln_json_array();
    for (uint32_t i = 0; i < count; i++)
        kiln_json_append(array, json_integer(items[i]));
    return array;
}

static json_t *graph_json(const struct shown *shown)
{
    const struct kiln_graph *graph = &shown->description.key.graph;
    json_t *object = kiln_json_object();
    json_t *nodes = kiln_json_array();
    json_t *tensors = kiln_json_array();
    struct kiln_buffer summary;
    kiln_buffer_init(&summary);
    kiln_entry_summary(&shown->description, &summary);
    kiln_json_set(object, "summary", kiln_json_text(kiln_buffer_text(&summary)));
    kiln_buffer_fini(&summary);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        json_t *item = kiln_json_object();
        kiln_json_set(item, "operation", json_string(kiln_node_operation(node)));
        kiln_json_set(item, "inputs", sizes_json(node->inputs, node->input_count));
        kiln_json_set(item, "outputs", sizes_json(node->outputs, node->output_count));
        kiln_json_append(nodes, item);
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        json_t *item = kiln_json_object();
        kiln_json_set(item, "role", json_string(role_texts[tensor->role]));
        kiln_json_set(item, "type", json_string(kiln_dtype_info(tensor->dtype)->text));
        kiln_json_set(item, "dims", numbers_json(tensor->dims, tensor->rank));
        kiln_json_set(item, "strides", numbers_json(tensor->strides, tensor->rank));
        kiln_json_append(tensors, item);
    }
    kiln_json_set(object, "nodes", nodes);
    kiln_json_set(object, "tensors", tensors);
    return object;
}

static json_t *kernel_json(const struct shown *shown, uint32_t index)
{
    const struct shown_kernel kernel = kernel_at(shown, index);
    const struct kiln_kernel_resources *resources = &kernel.object->resources;
    json_t *object = kiln_json_object();
    kiln_json_set(object, "symbol", kiln_json_text(kernel.symbol));
    kiln_json_set(object, "key", kiln_json_text(kernel.hex));
    kiln_json_set(object, "grid", kernel.grid ? sizes_json(kernel.grid, 3) : json_null());
    kiln_json_set(object, "block", sizes_json(kernel.block, 3));
    kiln_json_set(object, "lds_bytes", json_integer(kernel.lds_bytes));
    kiln_json_set(object, "arguments", json_integer(kernel.argument_count));
    kiln_json_set(object, "vgprs", json_integer(resources->vgprs));
    kiln_json_set(object, "sgprs", json_integer(resources->sgprs));
    kiln_json_set(object, "vgpr_spills", json_integer(resources->vgpr_spills));
    kiln_json_set(object, "sgpr_spills", json_integer(resources->sgpr_spills));
    kiln_json_set(object, "scratch_bytes", json_integer(resources->scratch_bytes));
    kiln_json_set(object, "wave_size", json_integer(resources->wave_size));
    kiln_json_set(object, "code_bytes", json_integer((json_int_t)kernel.object->size));
    kiln_json_set(object, "file",
                  shown->files && shown->files[index] ? kiln_json_text(shown->files[index])
                                                      : json_null());
    return object;
}

static json_t *program_json(const struct shown *shown)
{
    json_t *object = kiln_json_object();
    json_t *kernels = kiln_json_array();
    for (uint32_t i = 0; i < kernel_count(shown); i++)
        kiln_json_append(kernels, kernel_json(shown, i));
    kiln_json_set(object, "workspace_bytes",
                  json_integer((json_int_t)shown->description.program->program.workspace_bytes));
    kiln_json_set(object, "kernels", kernels);
    return object;
}

/* null: the entry does not say. */
static json_t *maker_json(const char *text)
{
    return text && *text ? kiln_json_text(text) : json_null();
}

static json_t *kernel_key_json(const struct kiln_entry_description *description)
{
    const struct kiln_kernel_key *key = &description->kernel_key;
    json_t *object = kiln_json_object();
    kiln_json_set(object, "target", kiln_json_text(description->target));
    kiln_json_set(object, "compile_options", kiln_json_text(description->compile_options));
    kiln_json_set(object, "format_version", json_integer(key->format_version));
    kiln_json_set(object, "source_bytes", json_integer((json_int_t)key->source_bytes));
    return object;
}

static json_t *key_json(const struct shown *shown)
{
    const struct kiln_program_key *key = &shown->description.key;
    if (shown->description.kind == KILN_ENTRY_KERNEL)
        return kernel_key_json(&shown->description);
    json_t *object = kiln_json_object();
    json_t *options = kiln_json_object();
    kiln_json_set(options, "no_fusion", json_boolean(key->options.no_fusion));
    kiln_json_set(options, "max_vector_elements", json_integer(key->options.max_vector_elements));
    kiln_json_set(options, "host_wave_size", json_integer(key->options.host_wave_size));
    kiln_json_set(object, "target", kiln_json_text(key->target));
    kiln_json_set(object, "compile_options", kiln_json_text(shown->description.compile_options));
    kiln_json_set(object, "templates", kiln_json_text(key->templates_digest));
    kiln_json_set(object, "format_version", json_integer(key->format_version));
    kiln_json_set(object, "options", options);
    kiln_json_set(object, "graph", graph_json(shown));
    return object;
}

static void print_shown_json(const struct shown *shown)
{
    const struct kiln_entry_description *description = &shown->description;
    bool is_known = description->kind != KILN_ENTRY_UNKNOWN;
    bool is_whole = is_known && (description->program || description->kernel);
    json_t *document = kiln_json_object();
    kiln_json_set(document, "key", kiln_json_text(shown->item.hex));
    kiln_json_set(document, "place", kiln_json_text(shown->place));
    kiln_json_set(document, "bytes", json_integer((json_int_t)shown->item.bytes));
    kiln_json_set(document, "key_bytes", json_integer((json_int_t)shown->view.key_bytes));
    kiln_json_set(document, "payload_bytes", json_integer((json_int_t)shown->view.payload_bytes));
    kiln_json_set(document, "last_use",
                  shown->item.last_use_s ? json_integer((json_int_t)shown->item.last_use_s)
                                         : json_null());
    kiln_json_set(document, "compiler", maker_json(description->compiler));
    kiln_json_set(document, "build", maker_json(description->build));
    kiln_json_set(document, "fields", is_known ? key_json(shown) : json_null());
    kiln_json_set(document, "program", description->program ? program_json(shown) : json_null());
    kiln_json_set(document, "kernel", description->kernel ? kernel_json(shown, 0) : json_null());
    kiln_json_set(document, "message",
                  is_whole ? json_null() : kiln_json_text(description->reason.text));
    kiln_json_print(document);
}

int kiln_cache_show(const struct kiln_cache_request *request, struct kiln_error *error)
{
    struct kiln_cache_store *store = request->store;
    struct shown shown = {0};
    struct kiln_buffer entry;
    char hex[KILN_CACHE_HASH_HEX + 1];
    kiln_buffer_init(&entry);
    enum kiln_status status = kiln_cache_resolve(store, request->operands[0], hex, error);
    if (status == KILN_OK)
        status = kiln_cache_store_read(store, hex, &shown.item, &entry, &shown.view, error);
    if (status != KILN_OK) {
        kiln_buffer_fini(&entry);
        return kiln_message_exit_code(status);
    }
    shown.place = shown.item.source == KILN_CACHE_SOURCE_DIRECTORY
                      ? kiln_cache_store_directory(store)
                      : kiln_cache_store_layer(store, (size_t)shown.item.source).path;
    kiln_entry_describe(&shown.view, true, &shown.description);
    shown.missing = kiln_entry_find_kernels(&shown.description, store);
    if (request->extract && kernel_count(&shown))
        status = extract(&shown, request->extract, error);
    else if (request->extract)
        status = kiln_error_set(error, KILN_CORRUPT, "nothing can be extracted from '%s': %s", hex,
                                shown.description.reason.text);
    if (request->extract && status == KILN_OK && shown.missing)
        status = kiln_error_set(
            error, KILN_NOT_FOUND, "%" PRIu32 " of %" PRIu32 " %s of '%s' %s in no cache",
            shown.missing, kernel_count(&shown), KILN_NOUN(kernel_count(&shown), "kernel"), hex,
            shown.missing == 1 ? "is" : "are");
    if (request->json)
        print_shown_json(&shown);
    else
        print_shown(&shown);
    for (uint32_t i = 0; shown.files && i < kernel_count(&shown); i++)
        free(shown.files[i]);
    free(shown.files);
    kiln_entry_description_fini(&shown.description);
    kiln_buffer_fini(&entry);
    return kiln_message_exit_code(status);
}
