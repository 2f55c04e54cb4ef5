/*
 * Targets named on the command line, or the one that graphs would run on here.
 */
#ifndef KILN_CLI_TARGET_LIST_H
#define KILN_CLI_TARGET_LIST_H

#include "compiler/codegen/target.h"
#include "runtime/support/error.h"

#include <stddef.h>

struct kiln_target_list {
    struct kiln_target *targets; /* owned */
    size_t count;
};

/* The word for every AMD GPU in targets.def. */
#define KILN_TARGET_LIST_ALL "all"

/* Adds those of "gfx90a, RX 7900 XTX" or "all"; repeated targets count once. KILN_BAD_ARGUMENT for
 * an unknown or empty name, with nothing added. */
enum kiln_status kiln_target_list_add(struct kiln_target_list *list, const char *text,
                                      struct kiln_error *error) KILN_NODISCARD;
/* The target of the device that plans run on here: KILN_DEVICE, else a GPU, else the host. */
enum kiln_status kiln_target_list_here(struct kiln_target_list *ret_list,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_target_list_fini(struct kiln_target_list *list);

#endif
