/*
 * The part of AMD's code object manager (libamd_comgr) that Kiln uses, written down here because
 * the library is opened at run time and its header need not be installed. Source: amd_comgr.h of
 * API 2.4 to 3.3, LLVM's amd/comgr/include; a test compares the types and numbers with that header
 * where it is there.
 *
 * Two sets of numbers changed with API 3.0, which dropped members from the middle of enumerations:
 * the languages and the actions behind COMPILE_SOURCE_TO_BC.
 */
#ifndef KILN_COMPILER_CODEGEN_COMGR_API_H
#define KILN_COMPILER_CODEGEN_COMGR_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Handles are structures of one 64-bit number, passed by value. */
struct kiln_comgr_handle {
    uint64_t handle;
};

enum {
    KILN_COMGR_STATUS_SUCCESS = 0,

    KILN_COMGR_DATA_KIND_SOURCE = 1,
    KILN_COMGR_DATA_KIND_LOG = 5,
    KILN_COMGR_DATA_KIND_BC = 6,
    KILN_COMGR_DATA_KIND_RELOCATABLE = 7,
    KILN_COMGR_DATA_KIND_EXECUTABLE = 8,

    KILN_COMGR_ACTION_COMPILE_SOURCE_TO_BC = 2,

    KILN_COMGR2_LANGUAGE_HIP = 4,
    KILN_COMGR2_ACTION_CODEGEN_BC_TO_RELOCATABLE = 6,
    KILN_COMGR2_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE = 9,

    KILN_COMGR3_LANGUAGE_HIP = 3,
    KILN_COMGR3_ACTION_CODEGEN_BC_TO_RELOCATABLE = 4,
    KILN_COMGR3_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE = 7,
};

/* KILN_COMGR_FUNCTION(name, result, parameters): amd_comgr_<name>; statuses and enumerations are
 * unsigned. */
#define KILN_COMGR_FUNCTIONS(KILN_COMGR_FUNCTION)                                                  \
    KILN_COMGR_FUNCTION(get_version, void, (size_t *, size_t *))                                   \
    KILN_COMGR_FUNCTION(status_string, unsigned, (unsigned, const char **))                        \
    KILN_COMGR_FUNCTION(get_isa_count, unsigned, (size_t *))                                       \
    KILN_COMGR_FUNCTION(get_isa_name, unsigned, (size_t, const char **))                           \
    KILN_COMGR_FUNCTION(create_data, unsigned, (unsigned, struct kiln_comgr_handle *))             \
    KILN_COMGR_FUNCTION(release_data, unsigned, (struct kiln_comgr_handle))                        \
    KILN_COMGR_FUNCTION(set_data, unsigned, (struct kiln_comgr_handle, size_t, const char *))      \
    KILN_COMGR_FUNCTION(set_data_name, unsigned, (struct kiln_comgr_handle, const char *))         \
    KILN_COMGR_FUNCTION(get_data, unsigned, (struct kiln_comgr_handle, size_t *, char *))          \
    KILN_COMGR_FUNCTION(create_data_set, unsigned, (struct kiln_comgr_handle *))                   \
    KILN_COMGR_FUNCTION(destroy_data_set, unsigned, (struct kiln_comgr_handle))                    \
    KILN_COMGR_FUNCTION(data_set_add, unsigned,                                                    \
                        (struct kiln_comgr_handle, struct kiln_comgr_handle))                      \
    KILN_COMGR_FUNCTION(action_data_count, unsigned,                                               \
                        (struct kiln_comgr_handle, unsigned, size_t *))                            \
    KILN_COMGR_FUNCTION(action_data_get_data, unsigned,                                            \
                        (struct kiln_comgr_handle, unsigned, size_t, struct kiln_comgr_handle *))  \
    KILN_COMGR_FUNCTION(create_action_info, unsigned, (struct kiln_comgr_handle *))                \
    KILN_COMGR_FUNCTION(destroy_action_info, unsigned, (struct kiln_comgr_handle))                 \
    KILN_COMGR_FUNCTION(action_info_set_isa_name, unsigned,                                        \
                        (struct kiln_comgr_handle, const char *))                                  \
    KILN_COMGR_FUNCTION(action_info_set_language, unsigned, (struct kiln_comgr_handle, unsigned))  \
    KILN_COMGR_FUNCTION(action_info_set_option_list, unsigned,                                     \
                        (struct kiln_comgr_handle, const char *[], size_t))                        \
    KILN_COMGR_FUNCTION(action_info_set_logging, unsigned, (struct kiln_comgr_handle, bool))       \
    KILN_COMGR_FUNCTION(                                                                           \
        do_action, unsigned,                                                                       \
        (unsigned, struct kiln_comgr_handle, struct kiln_comgr_handle, struct kiln_comgr_handle))  \
    KILN_COMGR_FUNCTION(create_disassembly_info, unsigned,                                         \
                        (const char *, uint64_t (*)(uint64_t, char *, uint64_t, void *),           \
                         void (*)(const char *, void *), void (*)(uint64_t, void *),               \
                         struct kiln_comgr_handle *))                                              \
    KILN_COMGR_FUNCTION(destroy_disassembly_info, unsigned, (struct kiln_comgr_handle))            \
    KILN_COMGR_FUNCTION(disassemble_instruction, unsigned,                                         \
                        (struct kiln_comgr_handle, uint64_t, void *, uint64_t *))

#endif
