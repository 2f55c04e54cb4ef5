#include "compiler/emit/template_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(template_text, files_are_sorted_and_found)
{
    cr_assert_gt(kiln_template_file_count, 10);
    for (size_t i = 1; i < kiln_template_file_count; i++)
        cr_assert_lt(strcmp(kiln_template_files[i - 1].path, kiln_template_files[i].path), 0);
    cr_assert_not_null(kiln_template_find("pointwise.hip"));
    cr_assert_not_null(kiln_template_find("device/math/exp_f32.h"));
    cr_assert_null(kiln_template_find("device/math/none.h"));
    cr_assert_null(kiln_template_find("default/pointwise_prelude.h"));
}

Test(template_text, a_file_comes_once_with_what_it_includes)
{
    struct kiln_template_inclusion inclusion = {.included =
                                                    calloc(kiln_template_file_count, sizeof(bool))};
    struct kiln_buffer source;
    kiln_buffer_init(&source);
    kiln_template_append(&inclusion, "device/amdgcn.h", &source);
    cr_assert_not_null(strstr(source.data, "#line 1 \"device/amdgcn.h\""));
    cr_assert_not_null(strstr(source.data, "#line 1 \"device/arithmetic.h\""));
    cr_assert_null(strstr(source.data, "#include \"device/"));
    size_t size = source.size;
    kiln_template_append(&inclusion, "device/amdgcn.h", &source);
    kiln_template_append(&inclusion, "device/arithmetic.h", &source);
    kiln_template_append(&inclusion, "no such file", &source);
    cr_assert_eq(source.size, size);
    kiln_buffer_fini(&source);
    free(inclusion.included);
}

Test(template_text, the_digest_is_that_of_sha256)
{
    cr_assert_eq(strlen(kiln_generated_digest), 64);
    cr_assert_eq(strspn(kiln_generated_digest, "0123456789abcdef"), 64);
}
