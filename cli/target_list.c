#include "cli/target_list.h"

#include "cli/text.h"
#include "runtime/device/device.h"

#include <stdlib.h>
#include <string.h>

void kiln_target_list_fini(struct kiln_target_list *list)
{
    free(list->targets);
    *list = (struct kiln_target_list){0};
}

static void append_once(struct kiln_target_list *list, const struct kiln_target *target)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->targets[i].name, target->name) == 0)
            return;
    list->targets[list->count++] = *target;
}

enum kiln_status kiln_target_list_parse(const char *text, struct kiln_target_list *ret_list,
                                        struct kiln_error *error)
{
    size_t commas = 0;
    for (const char *at = text; *at; at++)
        commas += *at == ',';
    struct kiln_target_list list = {kiln_cli_calloc(commas + 1, sizeof(*list.targets)), 0};
    enum kiln_status status = KILN_OK;
    const char *at = text;
    for (size_t i = 0; i <= commas && status == KILN_OK; i++) {
        size_t length = strcspn(at, ",");
        char name[KILN_TARGET_NAME_BYTES * 2];
        struct kiln_target target;
        if (length == 0) {
            status = kiln_error_set(error, KILN_BAD_ARGUMENT, "a target in '%s' has no name", text);
        } else if (length >= sizeof(name)) {
            status = kiln_error_set(error, KILN_BAD_ARGUMENT, "target '%.40s...' is unknown", at);
        } else {
            memcpy(name, at, length);
            name[length] = '\0';
            status = kiln_target_parse(name, &target, error);
        }
        if (status == KILN_OK)
            append_once(&list, &target);
        at += length + 1;
    }
    if (status != KILN_OK) {
        kiln_target_list_fini(&list);
        return status;
    }
    *ret_list = list;
    return KILN_OK;
}

enum kiln_status kiln_target_list_here(struct kiln_target_list *ret_list, struct kiln_error *error)
{
    struct kiln_device *device;
    enum kiln_status status = kiln_device_open(NULL, &device, error);
    if (status != KILN_OK)
        return status;
    ret_list->targets = kiln_cli_calloc(1, sizeof(*ret_list->targets));
    ret_list->targets[0] = device->target;
    ret_list->count = 1;
    kiln_device_close(device);
    return KILN_OK;
}
