#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/elf_file.h"
#include "tests/runtime/support/without_proc.h"

#include <criterion/criterion.h>

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool open_self(int *ret_descriptor, struct kiln_elf *ret_elf)
{
    *ret_descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return *ret_descriptor >= 0 && kiln_elf_open_descriptor(*ret_descriptor, ret_elf);
}

Test(elf_file, reads_this_program)
{
    int descriptor;
    struct kiln_elf elf;
    char name[256];
    bool needs_libc = false;
    cr_assert(open_self(&descriptor, &elf));
    for (size_t i = 0; kiln_elf_dynamic_text(&elf, DT_NEEDED, i, name, sizeof name); i++)
        needs_libc = needs_libc || strcmp(name, "libc.so.6") == 0;
    cr_expect(needs_libc);
    cr_expect_not(kiln_elf_dynamic_text(&elf, DT_NEEDED, 0, name, 3), "a text that does not fit");
    struct kiln_elf_symbol symbol;
    cr_expect_not(kiln_elf_find_symbol(&elf, "kiln_no_such_symbol", &symbol));
    (void)close(descriptor);
}

Test(elf_file, refuses_what_is_none)
{
    struct kiln_elf elf;
    int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    cr_expect_not(kiln_elf_open_descriptor(descriptor, &elf));
    (void)close(descriptor);
    cr_expect_not(kiln_elf_open_memory("", 0, &elf));
    cr_expect_not(kiln_elf_open_memory("\177ELF", 4, &elf));
    cr_expect_not(kiln_elf_open_memory(NULL, 0, &elf));
}

/* A damaged copy of this program's head, tail and tables is asked everything. */
Test(elf_file, random_damage)
{
    enum { ROUNDS = 3000 };
    int descriptor;
    struct kiln_elf elf;
    cr_assert(open_self(&descriptor, &elf));
    size_t size = (size_t)elf.size_bytes;
    unsigned char *bytes = malloc(size);
    cr_assert(kiln_elf_read(&elf, 0, bytes, size));
    (void)close(descriptor);
    uint32_t state = 99;
    for (int round = 0; round < ROUNDS; round++) {
        size_t at[4];
        unsigned char old[4];
        for (int i = 0; i < 4; i++) {
            state = state * 1664525 + 1013904223;
            at[i] = (state >> 8) % (i < 2 ? 1024 : size);
            old[i] = bytes[at[i]];
            bytes[at[i]] = (unsigned char)(state >> 24);
        }
        if (kiln_elf_open_memory(bytes, size, &elf)) {
            char text[64];
            unsigned char id[KILN_BUILD_ID_BYTES];
            size_t id_size;
            struct kiln_elf_symbol symbol;
            for (size_t i = 0; i < 4; i++)
                (void)kiln_elf_dynamic_text(&elf, DT_NEEDED, i, text, sizeof text);
            (void)kiln_elf_build_id(&elf, id, &id_size);
            (void)kiln_elf_find_symbol(&elf, "main", &symbol);
            (void)kiln_elf_find_static_symbol(&elf, "main", &symbol);
            struct kiln_elf_section section;
            (void)kiln_elf_find_section(&elf, ".text", &section);
        }
        for (int i = 3; i >= 0; i--)
            bytes[at[i]] = old[i];
    }
    free(bytes);
}

Test(elf_file, identity_is_of_content_and_not_of_place)
{
    struct kiln_buffer here;
    struct kiln_buffer there;
    struct kiln_error error;
    char directory[] = "/tmp/kiln-test-XXXXXX";
    char copy[64];
    char command[4200];
    kiln_error_init(&error);
    kiln_buffer_init(&here);
    kiln_buffer_init(&there);
    char *shell = kiln_program_find("sh");
    cr_assert_not_null(shell);
    char *resolved = realpath(shell, NULL);
    cr_assert_not_null(mkdtemp(directory));
    (void)snprintf(copy, sizeof copy, "%s/%s", directory, strrchr(resolved, '/') + 1);
    (void)snprintf(command, sizeof command, "cp -p '%s' '%s'", resolved, copy);
    cr_assert_eq(system(command), 0);
    cr_expect(kiln_binary_append_identity(shell, &here));
    cr_expect(kiln_binary_append_identity(copy, &there));
    cr_expect_str_eq(here.data, there.data);
    cr_expect_eq(kiln_binary_check_identity(shell, here.data, &error), KILN_OK);
    cr_expect_eq(kiln_binary_check_identity("/proc/self/exe", here.data, &error),
                 KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "has changed") != NULL, "%s", error.text);
    cr_expect_not(kiln_binary_append_identity("/no/such/file", &here));
    (void)unlink(copy);
    (void)rmdir(directory);
    kiln_buffer_fini(&here);
    kiln_buffer_fini(&there);
    free(resolved);
    free(shell);
}

Test(elf_file, finds_libraries_like_the_linker)
{
    char *libc = kiln_library_find("libc.so.6");
    cr_assert_not_null(libc);
    cr_expect_eq(libc[0], '/');
    char *again = kiln_library_find(libc);
    cr_expect_str_eq(again, libc);
    cr_expect_null(kiln_library_find_in("libkiln-no-such-library.so.1", "/tmp"));
    cr_expect_null(kiln_library_find("/etc/passwd"), "not a library");
    free(again);
    free(libc);
}

static int find_libc(void)
{
    char *path = kiln_library_find("libc.so.6");
    bool is_found = path != NULL;
    free(path);
    return is_found ? 0 : 1;
}

Test(elf_file, finds_libraries_without_proc)
{
    int result = without_proc_run(find_libc);
    if (result < 0)
        cr_skip_test("this process may not hide /proc");
    cr_expect_eq(result, 0);
}
