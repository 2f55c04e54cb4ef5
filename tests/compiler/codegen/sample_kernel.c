#include "sample_kernel.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static const char amdgpu_source[] =
    "extern \"C\" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))\n"
    "void sample(const float *a, float *b, unsigned long n)\n"
    "{\n"
    "    unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();\n"
    "    if (i < n)\n"
    "        b[i] = a[i] * 2.0f + 1.0f;\n"
    "}\n";

static const char cuda_source[] = "extern \"C\" __global__ void __launch_bounds__(256)\n"
                                  "sample(const float *a, float *b, unsigned long n)\n"
                                  "{\n"
                                  "    unsigned i = blockIdx.x * 256 + threadIdx.x;\n"
                                  "    if (i < n)\n"
                                  "        b[i] = a[i] * 2.0f + 1.0f;\n"
                                  "}\n";

static const char host_source[] = "extern \"C\" __attribute__((visibility(\"default\")))\n"
                                  "void sample(const float *a, float *b, unsigned long n)\n"
                                  "{\n"
                                  "    for (unsigned long i = 0; i < n; i++)\n"
                                  "        b[i] = a[i] * 2.0f + 1.0f;\n"
                                  "}\n";

struct kiln_kernel sample_kernel_with(const char *source)
{
    return (struct kiln_kernel){
        .symbol = "sample",
        .source = source,
        .source_bytes = (uint32_t)strlen(source),
        .grid = {4, 1, 1},
        .block = {256, 1, 1},
        .argument_count = 3,
    };
}

struct kiln_kernel sample_kernel(const struct kiln_target *target)
{
    static const char *const sources[] = {
        [KILN_TARGET_AMDGPU] = amdgpu_source,
        [KILN_TARGET_HOST] = host_source,
        [KILN_TARGET_CUDA] = cuda_source,
    };
    return sample_kernel_with(sources[target->kind]);
}

struct kiln_target sample_target(const char *text)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(text, &target, &error), KILN_OK, "%s", error.text);
    return target;
}

struct kiln_codegen *sample_codegen(const char *worker, uint32_t timeout_seconds)
{
    struct kiln_codegen_options options = {
        .worker_path = worker, .max_workers = 2, .timeout_seconds = timeout_seconds};
    struct kiln_codegen *codegen;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_create(&options, &codegen, &error), KILN_OK, "%s", error.text);
    return codegen;
}

void sample_require(struct kiln_codegen *codegen, const struct kiln_target *target)
{
    char name[KILN_COMPILER_NAME_BYTES];
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_codegen_compiler(codegen, target, name, &error);
    if (status == KILN_UNSUPPORTED && strstr(error.text, "no compiler here") != NULL) {
        kiln_codegen_unref(codegen);
        cr_skip_test("%s", error.text);
    }
    cr_assert_eq(status, KILN_OK, "%s", error.text);
}

enum kiln_status sample_compile(struct kiln_codegen *codegen, const char *target_name,
                                const char *source, struct kiln_error *error)
{
    struct kiln_target target = sample_target(target_name);
    struct kiln_kernel kernel =
        source != NULL ? sample_kernel_with(source) : sample_kernel(&target);
    struct kiln_code_object object;
    kiln_error_init(error);
    enum kiln_status status = kiln_codegen_compile(codegen, &target, &kernel, &object, error);
    if (status == KILN_OK)
        kiln_code_object_fini(&object);
    return status;
}

char *sample_doubling_source(const char *before, const char *element, int doublings,
                             const char *after)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    (void)fprintf(file, "#define A0 %s\n", element);
    for (int i = 1; i <= doublings; i++)
        (void)fprintf(file, "#define A%d A%d A%d\n", i, i - 1, i - 1);
    (void)fprintf(file, "%s A%d %s\n", before, doublings, after);
    (void)fclose(file);
    return text;
}
