#include "cli/graph_files.h"

#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/unprivileged.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kiln_graph_files files;
static struct kiln_error error;
static const char *root;

static void set_up(void)
{
    root = temporary_directory_make();
    cr_assert(root);
    kiln_graph_files_init(&files);
    kiln_error_init(&error);
}

static void tear_down(void)
{
    kiln_graph_files_fini(&files);
    temporary_directory_remove();
}

TestSuite(graph_files, .init = set_up, .fini = tear_down);

static void touch(const char *name)
{
    cr_assert(write_file(name, "x", 1));
}

static void make_directory(const char *name)
{
    cr_assert_eq(mkdir(temporary_path(name), 0700), 0);
}

static void expect(const char *const *names, size_t count)
{
    cr_assert_eq(files.count, count, "%zu files", files.count);
    for (size_t i = 0; i < count; i++)
        cr_assert_str_eq(files.files[i].path, temporary_path(names[i]));
}

Test(graph_files, a_file_is_taken_as_named)
{
    kiln_graph_files_add(&files, "no/such/file");
    kiln_graph_files_add(&files, "-");
    cr_assert_eq(files.count, 2);
    cr_assert_str_eq(files.files[0].path, "no/such/file");
    cr_assert_not(files.files[0].is_found);
    cr_assert_str_eq(files.files[1].path, "-");
}

Test(graph_files, a_directory_is_searched_in_the_order_of_names)
{
    touch("b.bin");
    touch("a.bin");
    touch("c.json");
    touch("readme.txt");
    touch(".hidden.bin");
    touch("bin");
    make_directory("aa");
    touch("aa/z.bin");
    make_directory("aa/deeper");
    touch("aa/deeper/y.json");
    kiln_graph_files_add(&files, root);
    expect((const char *const[]){"a.bin", "aa/deeper/y.json", "aa/z.bin", "b.bin", "c.json"}, 5);
    cr_assert(files.files[0].is_found);
}

Test(graph_files, json_beside_a_binary_describes_it)
{
    touch("a.bin");
    touch("a.json");
    touch("ab.json");
    kiln_graph_files_add(&files, root);
    expect((const char *const[]){"a.bin", "ab.json"}, 2);
}

Test(graph_files, a_trailing_slash_is_not_doubled)
{
    char path[1024];
    touch("a.bin");
    snprintf(path, sizeof(path), "%s/", root);
    kiln_graph_files_add(&files, path);
    expect((const char *const[]){"a.bin"}, 1);
}

Test(graph_files, linked_directories_are_not_entered)
{
    make_directory("real");
    touch("real/a.bin");
    cr_assert_eq(symlink(root, temporary_path("real/loop")), 0);
    cr_assert_eq(symlink("nowhere", temporary_path("real/broken.bin")), 0);
    kiln_graph_files_add(&files, temporary_path("real"));
    expect((const char *const[]){"real/a.bin"}, 1);
}

/* It stands for what is not found, and the rest is found. */
Test(graph_files, endless_depth_is_told_in_its_place)
{
    char path[2048] = "d";
    make_directory(path);
    for (int i = 0; i < 40; i++) {
        strcat(path, "/d");
        cr_assert_eq(mkdir(temporary_path(path), 0700), 0);
    }
    touch("a.bin");
    touch("e.bin");
    kiln_graph_files_add(&files, root);
    cr_assert_eq(files.count, 3);
    cr_assert_str_eq(files.files[0].path, temporary_path("a.bin"));
    cr_assert_null(files.files[0].trouble);
    cr_assert(strstr(files.files[1].trouble, "nested"), "%s", files.files[1].trouble);
    cr_assert_str_eq(files.files[2].path, temporary_path("e.bin"));
}

static int search_locked_directory(void)
{
    if (mkdir(temporary_path("locked"), 0) != 0)
        return 10;
    kiln_graph_files_add(&files, root);
    if (chmod(temporary_path("locked"), 0700) != 0)
        return 11;
    if (files.count != 2 || !files.files[0].trouble || files.files[1].trouble)
        return 12;
    return strstr(files.files[0].trouble, "locked") ? 0 : 13;
}

Test(graph_files, a_directory_without_access_is_told_in_its_place)
{
    touch("z.bin");
    cr_assert_eq(unprivileged_run(root, search_locked_directory), 0);
}

static enum kiln_status add_manifest(const char *text, size_t size)
{
    cr_assert(write_file("lists/some.txt", text, size));
    return kiln_graph_files_add_manifest(&files, temporary_path("lists/some.txt"), &error);
}

#define ADD_MANIFEST(text) add_manifest(text, sizeof(text) - 1)

Test(graph_files, a_manifest_is_relative_to_its_folder)
{
    make_directory("lists");
    make_directory("lists/more");
    touch("lists/more/b.bin");
    touch("lists/more/a.bin");
    cr_assert_eq(ADD_MANIFEST("# what we run\n"
                              "\n"
                              "x.bin\r\n"
                              "../y.bin\n"
                              "more\n"
                              "-\n"
                              "/absolute.bin"),
                 KILN_OK);
    cr_assert_eq(files.count, 6);
    cr_assert_str_eq(files.files[0].path, temporary_path("lists/x.bin"));
    cr_assert_not(files.files[0].is_found, "it is an error when it is no graph");
    cr_assert_str_eq(files.files[1].path, temporary_path("lists/../y.bin"));
    cr_assert_str_eq(files.files[2].path, temporary_path("lists/more/a.bin"));
    cr_assert_str_eq(files.files[3].path, temporary_path("lists/more/b.bin"));
    cr_assert(files.files[3].is_found);
    cr_assert_str_eq(files.files[4].path, temporary_path("lists/-"));
    cr_assert_str_eq(files.files[5].path, "/absolute.bin");
}

Test(graph_files, a_manifest_of_nothing_lists_nothing)
{
    make_directory("lists");
    cr_assert_eq(add_manifest("", 0), KILN_OK);
    cr_assert_eq(ADD_MANIFEST("\n\r\n#only\n\n"), KILN_OK);
    cr_assert_eq(files.count, 0);
}

Test(graph_files, a_manifest_that_is_no_text_is_refused)
{
    make_directory("lists");
    cr_assert_eq(ADD_MANIFEST("good.bin\nb\0d.bin\n"), KILN_BAD_ARGUMENT);
    cr_assert(strstr(error.text, "line 2"), "%s", error.text);
    cr_assert(strstr(error.text, "hint:"), "%s", error.text);
}

Test(graph_files, a_manifest_that_is_missing_is_named)
{
    cr_assert_eq(kiln_graph_files_add_manifest(&files, temporary_path("none"), &error),
                 KILN_NOT_FOUND);
    cr_assert(strstr(error.text, "none"), "%s", error.text);
    kiln_error_init(&error);
    cr_assert_neq(kiln_graph_files_add_manifest(&files, root, &error), KILN_OK, "a directory");
}
