/*
 * Kernels as cache entries: keys that say what a kernel is and nothing else, and payloads that are
 * read back or refused.
 */
#include "runtime/engine/kernel_format.h"

#include "runtime/engine/kernel_key.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct kiln_error error;
static struct kiln_target target;
static struct kiln_shared_kernel *kernel;
static struct kiln_buffer bytes;

static void set_up(void)
{
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    cr_assert_eq(kiln_target_parse("gfx90a", &target, &error), KILN_OK);
    cr_assert_eq(kiln_shared_kernel_create(&kernel, &error), KILN_OK);
    kernel->symbol = strdup("kiln_pointwise_0123");
    memcpy(kernel->block, (uint32_t[3]){64, 4, 1}, sizeof kernel->block);
    kernel->lds_bytes = 1024;
    kernel->uses_barrier = true;
    kernel->argument_count = 7;
    kernel->object =
        (struct kiln_code_object){.bytes = malloc(100), .size = 100, .compiler = "clang"};
    memset(kernel->object.bytes, 0x7f, 100);
    kernel->object.resources = (struct kiln_kernel_resources){1, 2, 3, 4, 5, 6, 7, 8};
}

static void tear_down(void)
{
    kiln_shared_kernel_unref(kernel);
    kiln_buffer_fini(&bytes);
}

TestSuite(kernel_format, .init = set_up, .fini = tear_down);

static struct kiln_shared_kernel *read_back(const void *data, size_t size)
{
    struct kiln_shared_kernel *read = NULL;
    enum kiln_status status = kiln_kernel_format_read(data, size, &read, &error);
    cr_assert(status == KILN_OK || (status == KILN_CORRUPT && read == NULL), "%s", error.text);
    return read;
}

Test(kernel_format, reads_back_what_it_wrote)
{
    for (int with_code = 0; with_code < 2; with_code++) {
        kiln_buffer_clear(&bytes);
        kiln_kernel_format_write(kernel, with_code, &bytes);
        struct kiln_shared_kernel *read = read_back(bytes.data, bytes.size);
        cr_assert_not_null(read);
        cr_expect_str_eq(read->symbol, kernel->symbol);
        cr_expect_arr_eq(read->block, kernel->block, sizeof kernel->block);
        cr_expect_eq(read->lds_bytes, 1024);
        cr_expect(read->uses_barrier);
        cr_expect_eq(read->argument_count, 7);
        cr_expect_eq(read->object.resources.vgprs, 1);
        cr_expect_eq(read->object.resources.scratch_bytes, 4);
        cr_expect_eq(read->object.resources.wave_size, 8);
        cr_expect_str_eq(read->object.compiler, "clang");
        cr_expect_eq(kiln_shared_kernel_has_code(read), with_code != 0);
        if (with_code)
            cr_expect_arr_eq(read->object.bytes, kernel->object.bytes, 100);
        kiln_shared_kernel_unref(read);
    }
}

Test(kernel_format, every_truncation_and_extension_is_refused)
{
    kiln_kernel_format_write(kernel, true, &bytes);
    for (size_t size = 0; size < bytes.size; size++)
        cr_expect_null(read_back(bytes.data, size), "%zu bytes", size);
    kiln_buffer_append(&bytes, "x", 1);
    cr_expect_null(read_back(bytes.data, bytes.size));
}

Test(kernel_format, flipped_bits_never_crash)
{
    unsigned refused = 0;
    kiln_kernel_format_write(kernel, true, &bytes);
    for (size_t i = 0; i < bytes.size * 8; i++) {
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ (1 << i % 8));
        struct kiln_shared_kernel *read = read_back(bytes.data, bytes.size);
        refused += read == NULL;
        kiln_shared_kernel_unref(read);
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ (1 << i % 8));
    }
    cr_expect_gt(refused, 200, "%u", refused);
}

static void expect_refused(const char *why)
{
    kiln_buffer_clear(&bytes);
    kiln_kernel_format_write(kernel, true, &bytes);
    cr_expect_null(read_back(bytes.data, bytes.size), "%s", why);
    cr_expect_not_null(strstr(error.text, why), "'%s' lacks '%s'", error.text, why);
}

Test(kernel_format, what_nobody_could_launch_is_refused)
{
    kernel->block[2] = 0;
    expect_refused("an impossible launch size");
    kernel->block[2] = 5;
    expect_refused("too many work-items");
    kernel->block[2] = 1;
    kernel->argument_count = 5000;
    expect_refused("too many arguments");
    kernel->argument_count = 7;
    kernel->symbol[0] = '-';
    expect_refused("no proper symbol");
}

/* ---- keys ---- */

static struct kiln_cache_key key_of(const char *source, const char *target_name)
{
    const struct kiln_kernel asked = {.symbol = "kernel",
                                      .source = source,
                                      .block = {64, 2, 1},
                                      .lds_bytes = 1024,
                                      .uses_barrier = true,
                                      .argument_count = 7};
    struct kiln_target of;
    struct kiln_cache_key key;
    cr_assert_eq(kiln_target_parse(target_name, &of, &error), KILN_OK);
    cr_assert_eq(kiln_kernel_key_make(&asked, &of, &key, &error), KILN_OK);
    return key;
}

static const char source[] = "#define A 1\n"
                             "#line 1 \"device/amdgcn.h\"\n"
                             "template text\n"
                             "#line 1 \"generated\"\n"
                             "int generated;\n"
                             "#line 1 \"pointwise.hip\"\n"
                             "more template text";

Test(kernel_format, a_key_says_what_it_is_of)
{
    struct kiln_cache_key key = key_of(source, "gfx90a");
    struct kiln_kernel_key read;
    struct kiln_buffer options;
    struct kiln_target of;
    kiln_buffer_init(&options);
    cr_assert_eq(kiln_target_parse("gfx90a", &of, &error), KILN_OK);
    kiln_codegen_append_options(&of, &options);
    cr_assert(kiln_kernel_key_is_one(key.bytes.data, key.bytes.size));
    cr_assert_eq(kiln_kernel_key_read(key.bytes.data, key.bytes.size, &read, &error), KILN_OK, "%s",
                 error.text);
    cr_expect(kiln_key_text_is(&read.target, "gfx90a"));
    cr_expect(kiln_key_text_is(&read.compile_options, kiln_buffer_text(&options)));
    cr_expect_arr_eq(read.block, ((uint32_t[3]){64, 2, 1}), sizeof read.block);
    cr_expect_eq(read.lds_bytes, 1024);
    cr_expect(read.uses_barrier);
    cr_expect_eq(read.argument_count, 7);
    cr_expect_eq(read.source_bytes, sizeof source - 1);
    cr_expect(kiln_key_text_is(&read.generated, "#define A 1\n"
                                                "#line 1 \"device/amdgcn.h\"\n"
                                                "#line 1 \"generated\"\n"
                                                "int generated;\n"
                                                "#line 1 \"pointwise.hip\"\n"),
              "%.*s", (int)read.generated.size, read.generated.text);
    for (size_t size = 0; size < key.bytes.size; size++)
        cr_expect_neq(kiln_kernel_key_read(key.bytes.data, size, &read, &error), KILN_OK);
    kiln_cache_key_fini(&key);
    kiln_buffer_fini(&options);
}

/* It has the kernel's fields and is another entry. */
Test(kernel_format, the_note_of_a_spill_has_a_key_of_its_own)
{
    struct kiln_cache_key key = key_of(source, "gfx90a");
    struct kiln_cache_key note;
    struct kiln_kernel_key read;
    cr_assert_eq(kiln_kernel_key_make_note(&key, &note, &error), KILN_OK);
    cr_expect_neq(note.hash_low, key.hash_low);
    cr_assert_eq(kiln_kernel_key_read(key.bytes.data, key.bytes.size, &read, &error), KILN_OK);
    cr_expect_not(read.is_note);
    cr_assert_eq(kiln_kernel_key_read(note.bytes.data, note.bytes.size, &read, &error), KILN_OK);
    cr_expect(read.is_note);
    cr_expect(kiln_key_text_is(&read.target, "gfx90a"));
    cr_expect_eq(read.source_bytes, sizeof source - 1);
    note.bytes.data[note.bytes.size - 1] ^= 1;
    cr_expect_eq(kiln_kernel_key_read(note.bytes.data, note.bytes.size, &read, &error),
                 KILN_CORRUPT);
    kiln_cache_key_fini(&note);
    kiln_cache_key_fini(&key);
}

/* A kernel with sanitizers is none without them, although no compiler is in the key. */
Test(kernel_format, sanitizers_of_the_host_device_make_another_key)
{
    cr_assert_eq(setenv("KILN_HOST_SANITIZE", "0", 1), 0);
    struct kiln_cache_key plain = key_of(source, "host:x86-64-v3");
    struct kiln_cache_key gpu = key_of(source, "gfx90a");
    cr_assert_eq(setenv("KILN_HOST_SANITIZE", "1", 1), 0);
    struct kiln_cache_key sanitized = key_of(source, "host:x86-64-v3");
    struct kiln_cache_key gpu_again = key_of(source, "gfx90a");
    cr_expect_neq(plain.hash_low, sanitized.hash_low);
    cr_expect_eq(gpu.hash_low, gpu_again.hash_low);
    kiln_cache_key_fini(&plain);
    kiln_cache_key_fini(&gpu);
    kiln_cache_key_fini(&sanitized);
    kiln_cache_key_fini(&gpu_again);
}

/* Templates are in it by their hash: another template is another kernel. */
Test(kernel_format, whatever_differs_makes_another_key)
{
    static const char *const others[][2] = {
        {source, "gfx942"},
        {"#define A 2\n#line 1 \"x.h\"\ntext", "gfx90a"},
        {"#define A 1\n#line 1 \"x.h\"\ntext", "gfx90a"},
        {"#define A 1\n#line 1 \"x.h\"\nother", "gfx90a"},
        {"#define A 1\n#line 1 \"x.h\"\ntextx", "gfx90a"},
    };
    enum { COUNT = sizeof others / sizeof *others };
    struct kiln_cache_key keys[COUNT];
    struct kiln_cache_key first = key_of(source, "gfx90a");
    struct kiln_cache_key again = key_of(source, "gfx90a");
    cr_expect_eq(first.hash_low, again.hash_low);
    cr_expect_eq(first.bytes.size, again.bytes.size);
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = key_of(others[i][0], others[i][1]);
        cr_expect_neq(keys[i].hash_low, first.hash_low);
        for (size_t j = 0; j < i; j++) {
            cr_expect_neq(keys[i].hash_low, keys[j].hash_low, "%zu and %zu", i, j);
            cr_expect(keys[i].bytes.size != keys[j].bytes.size ||
                      memcmp(keys[i].bytes.data, keys[j].bytes.data, keys[i].bytes.size) != 0);
        }
    }
    for (size_t i = 0; i < COUNT; i++)
        kiln_cache_key_fini(&keys[i]);
    kiln_cache_key_fini(&first);
    kiln_cache_key_fini(&again);
}

Test(kernel_format, keys_of_others_are_told)
{
    struct kiln_cache_key key;
    struct kiln_kernel_key read;
    const uint32_t version = KILN_KERNEL_FORMAT_VERSION + 1;
    kiln_cache_key_init(&key);
    kiln_cache_key_add_text(&key, "program");
    cr_expect_not(kiln_kernel_key_is_one(key.bytes.data, key.bytes.size));
    cr_expect_eq(kiln_kernel_key_read(key.bytes.data, key.bytes.size, &read, &error), KILN_CORRUPT);
    kiln_cache_key_fini(&key);
    cr_expect_not(kiln_kernel_key_is_one(NULL, 0));
    kiln_cache_key_add_text(&key, "kernel");
    kiln_cache_key_add(&key, &version, sizeof version);
    cr_expect(kiln_kernel_key_is_one(key.bytes.data, key.bytes.size));
    cr_expect_eq(kiln_kernel_key_read(key.bytes.data, key.bytes.size, &read, &error),
                 KILN_UNSUPPORTED);
    kiln_cache_key_fini(&key);
}
