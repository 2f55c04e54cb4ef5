/* Is what comgr_api.h wrote down what amd_comgr.h says? */
#include "compiler/codegen/comgr_api.h"

#include <criterion/criterion.h>

#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#define HAS_HEADER 1
#elif __has_include(<amd_comgr.h>)
#include <amd_comgr.h>
#define HAS_HEADER 1
#endif

#ifdef HAS_HEADER
_Static_assert(sizeof(amd_comgr_data_t) == sizeof(struct kiln_comgr_handle), "handle");
_Static_assert(sizeof(amd_comgr_data_set_t) == sizeof(struct kiln_comgr_handle), "handle");
_Static_assert(sizeof(amd_comgr_action_info_t) == sizeof(struct kiln_comgr_handle), "handle");
_Static_assert(sizeof(amd_comgr_disassembly_info_t) == sizeof(struct kiln_comgr_handle), "handle");
_Static_assert(sizeof(amd_comgr_status_t) == sizeof(unsigned), "status");

Test(comgr_api, numbers)
{
    cr_expect_eq(KILN_COMGR_STATUS_SUCCESS, (int)AMD_COMGR_STATUS_SUCCESS);
    cr_expect_eq(KILN_COMGR_DATA_KIND_SOURCE, (int)AMD_COMGR_DATA_KIND_SOURCE);
    cr_expect_eq(KILN_COMGR_DATA_KIND_LOG, (int)AMD_COMGR_DATA_KIND_LOG);
    cr_expect_eq(KILN_COMGR_DATA_KIND_BC, (int)AMD_COMGR_DATA_KIND_BC);
    cr_expect_eq(KILN_COMGR_DATA_KIND_RELOCATABLE, (int)AMD_COMGR_DATA_KIND_RELOCATABLE);
    cr_expect_eq(KILN_COMGR_DATA_KIND_EXECUTABLE, (int)AMD_COMGR_DATA_KIND_EXECUTABLE);
    cr_expect_eq(KILN_COMGR_ACTION_COMPILE_SOURCE_TO_BC,
                 (int)AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC);
    bool is_2 = (int)AMD_COMGR_LANGUAGE_HIP == KILN_COMGR2_LANGUAGE_HIP;
    cr_expect_eq((int)AMD_COMGR_LANGUAGE_HIP,
                 is_2 ? KILN_COMGR2_LANGUAGE_HIP : KILN_COMGR3_LANGUAGE_HIP);
    cr_expect_eq((int)AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE,
                 is_2 ? KILN_COMGR2_ACTION_CODEGEN_BC_TO_RELOCATABLE
                      : KILN_COMGR3_ACTION_CODEGEN_BC_TO_RELOCATABLE);
    cr_expect_eq((int)AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE,
                 is_2 ? KILN_COMGR2_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE
                      : KILN_COMGR3_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE);
}
#else
Test(comgr_api, numbers)
{
    cr_skip_test("amd_comgr.h is not installed");
}
#endif
