/*
 * kiln targets: what can be compiled here, and where it can run.
 */
#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/text.h"
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/compiler.h"
#include "compiler/codegen/product.h"
#include "runtime/device/device.h"

#include <stdio.h>
#include <string.h>

/* The sentence of an error without its hint lines. */
static int sentence_length(const struct kiln_error *error)
{
    return (int)strcspn(error->text, "\n");
}

static void describe_target(struct kiln_codegen *codegen, size_t index, struct kiln_table *table,
                            json_t *list)
{
    struct kiln_target target;
    struct kiln_error error;
    char compiler[KILN_COMPILER_NAME_BYTES];
    kiln_target_at(index, &target);
    kiln_error_init(&error);
    bool served = kiln_codegen_compiler(codegen, &target, compiler, &error) == KILN_OK;

    json_t *object = kiln_json_object();
    kiln_json_set(object, "name", kiln_json_text(target.processor));
    kiln_json_set(object, "wave_size", json_integer(target.wave_size));
    kiln_json_set(object, "lds_bytes", json_integer(target.lds_bytes));
    kiln_json_set(object, "features", kiln_json_text(kiln_target_features(&target)));
    kiln_json_set(object, "products", kiln_json_text(kiln_product_names(target.processor)));
    kiln_json_set(object, "compiler", served ? kiln_json_text(compiler) : json_null());
    kiln_json_set(object, "message", served ? json_null() : kiln_json_text(error.text));
    kiln_json_append(list, object);

    kiln_table_add(table, "%s", target.processor);
    kiln_table_add(table, "%u", target.wave_size);
    kiln_table_add(table, "%u KiB", target.lds_bytes / 1024);
    kiln_table_add(table, "%s", kiln_target_features(&target));
    kiln_table_add(table, "%s", served ? compiler : "-");
    kiln_table_add(table, "%s", kiln_product_names(target.processor));
}

static void describe_compiler(const struct kiln_compiler_ops *ops, struct kiln_table *table,
                              json_t *list)
{
    struct kiln_error error;
    struct kiln_compiler compiler = {0};
    kiln_error_init(&error);
    bool found = ops->find(&compiler, &error) == KILN_OK;

    json_t *object = kiln_json_object();
    kiln_json_set(object, "name", json_string(ops->name));
    kiln_json_set(object, "path", found ? kiln_json_text(compiler.path) : json_null());
    kiln_json_set(object, "identity", found ? kiln_json_text(compiler.identity) : json_null());
    kiln_json_set(object, "message", found ? json_null() : kiln_json_text(error.text));
    kiln_json_append(list, object);

    kiln_table_add(table, "%s", ops->name);
    if (found) {
        kiln_table_add(table, "%s", compiler.path);
        kiln_compiler_fini(&compiler);
    } else {
        kiln_table_add(table, "- %.*s; %s", sentence_length(&error), error.text, ops->hint);
    }
}

static void describe_device(const struct kiln_device_ops *ops, struct kiln_table *table,
                            json_t *list)
{
    struct kiln_error error;
    struct kiln_device *device = NULL;
    kiln_error_init(&error);
    bool opened = ops->open(ops, &device, &error) == KILN_OK;

    json_t *object = kiln_json_object();
    kiln_json_set(object, "name", json_string(ops->name));
    kiln_json_set(object, "target", opened ? kiln_json_text(device->target.name) : json_null());
    kiln_json_set(object, "message", opened ? json_null() : kiln_json_text(error.text));
    kiln_json_append(list, object);

    kiln_table_add(table, "%s", ops->name);
    if (opened) {
        kiln_table_add(table, "%s", device->target.name);
        kiln_device_close(device);
    } else {
        kiln_table_add(table, "- %.*s", sentence_length(&error), error.text);
    }
}

static void describe_all(struct kiln_codegen *codegen, bool json)
{
    struct kiln_table targets;
    struct kiln_table compilers;
    struct kiln_table devices;
    json_t *target_list = kiln_json_array();
    json_t *compiler_list = kiln_json_array();
    json_t *device_list = kiln_json_array();
    kiln_table_init(&targets, 6, 0x6);
    kiln_table_init(&compilers, 2, 0);
    kiln_table_init(&devices, 2, 0);
    kiln_table_add(&targets, "target");
    kiln_table_add(&targets, "wave");
    kiln_table_add(&targets, "LDS");
    kiln_table_add(&targets, "any setting of");
    kiln_table_add(&targets, "compiled by");
    kiln_table_add(&targets, "sold as");
    kiln_table_add(&compilers, "compiler");
    kiln_table_add(&compilers, "found at");
    kiln_table_add(&devices, "device");
    kiln_table_add(&devices, "runs");
    for (size_t i = 0; i < kiln_target_count(); i++)
        describe_target(codegen, i, &targets, target_list);
    for (size_t i = 0; i < kiln_compiler_count(); i++)
        describe_compiler(kiln_compiler_at(i), &compilers, compiler_list);
    for (size_t i = 0; i < kiln_device_kind_count(); i++)
        describe_device(kiln_device_kind(i), &devices, device_list);
    if (json) {
        json_t *document = kiln_json_object();
        kiln_json_set(document, "targets", target_list);
        kiln_json_set(document, "compilers", compiler_list);
        kiln_json_set(document, "devices", device_list);
        kiln_json_print(document);
    } else {
        kiln_table_print(&targets);
        putchar('\n');
        kiln_table_print(&compilers);
        putchar('\n');
        kiln_table_print(&devices);
        json_decref(target_list);
        json_decref(compiler_list);
        json_decref(device_list);
    }
    kiln_table_fini(&targets);
    kiln_table_fini(&compilers);
    kiln_table_fini(&devices);
}

int kiln_command_targets(struct kiln_command_line *line)
{
    bool json = false;
    while (kiln_command_line_next(line) != KILN_OPTION_END)
        json = true; /* its only option */
    if (line->stopped)
        return line->exit_code;
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_codegen_options options = {0};
    struct kiln_codegen *codegen;
    if (kiln_codegen_create(&options, &codegen, &error) != KILN_OK) {
        kiln_message_error("%s", error.text);
        return KILN_EXIT_ENVIRONMENT;
    }
    describe_all(codegen, json);
    kiln_codegen_unref(codegen);
    return KILN_EXIT_OK;
}
