#include "cli/target_list.h"

#include "cli/text.h"
#include "runtime/device/device.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static void append_gpus(struct kiln_target_list *list)
{
    for (size_t i = 0; i < kiln_target_count(); i++) {
        struct kiln_target target;
        kiln_target_at(i, &target);
        if (target.kind == KILN_TARGET_AMDGPU)
            append_once(list, &target);
    }
}

enum kiln_status kiln_target_list_add(struct kiln_target_list *list, const char *text,
                                      struct kiln_error *error)
{
    size_t commas = 0;
    for (const char *at = text; *at; at++)
        commas += *at == ',';
    struct kiln_target_list grown = {
        kiln_cli_calloc(list->count + commas + 1 + kiln_target_count(), sizeof(*grown.targets)), 0};
    for (size_t i = 0; i < list->count; i++)
        append_once(&grown, &list->targets[i]);
    enum kiln_status status = KILN_OK;
    const char *at = text;
    for (size_t i = 0; i <= commas && status == KILN_OK; i++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ",");
        size_t next = length + (at[length] != '\0');
        while (length > 0 && at[length - 1] == ' ')
            length--;
        char name[KILN_TARGET_NAME_BYTES * 2];
        struct kiln_target target;
        if (length == 0) {
            status = kiln_error_set(error, KILN_BAD_ARGUMENT, "a target in '%s' has no name", text);
        } else if (length >= sizeof(name)) {
            status = kiln_error_set(error, KILN_BAD_ARGUMENT, "target '%.40s...' is unknown", at);
        } else {
            memcpy(name, at, length);
            name[length] = '\0';
            if (strcasecmp(name, KILN_TARGET_LIST_ALL) == 0)
                append_gpus(&grown);
            else if ((status = kiln_target_parse(name, &target, error)) == KILN_OK)
                append_once(&grown, &target);
        }
        at += next;
    }
    struct kiln_target_list *unused = status == KILN_OK ? list : &grown;
    kiln_target_list_fini(unused);
    if (status == KILN_OK)
        *list = grown;
    return status;
}

enum kiln_status kiln_target_list_here(struct kiln_target_list *ret_list, struct kiln_error *error)
{
    struct kiln_device *device;
    enum kiln_status status = kiln_device_open(kiln_device_default_names(), &device, error);
    if (status != KILN_OK)
        return status;
    ret_list->targets = kiln_cli_calloc(1, sizeof(*ret_list->targets));
    ret_list->targets[0] = device->target;
    ret_list->count = 1;
    kiln_device_close(device);
    return KILN_OK;
}
