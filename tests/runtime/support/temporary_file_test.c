#include "runtime/support/temporary_file.h"

#include "runtime/support/file.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kiln_error error;
static int directory;
static const char *name;

static void set_up(void)
{
    umask(022);
    kiln_error_init(&error);
    cr_assert_not_null(temporary_directory_make());
    cr_assert_eq(kiln_file_open_parent(temporary_path("file"), &directory, &name, &error), KILN_OK);
    cr_assert_str_eq(name, "file");
}

static void tear_down(void)
{
    cr_assert_eq(close(directory), 0);
    temporary_directory_remove();
}

TestSuite(temporary_file, .init = set_up, .fini = tear_down, .timeout = 60);

Test(temporary_file, appears_whole)
{
    struct kiln_temporary_file file;
    struct stat attributes;
    cr_assert_eq(kiln_temporary_file_create(directory, name, 0664, &file, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "hello ", 6, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "", 0, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "world", 5, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_overwrite(&file, 1, "EL", 2, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "!", 1, &error), KILN_OK);
    cr_assert_eq(file.size, 12);
    cr_assert_neq(access(temporary_path("file"), F_OK), 0, "not before it is whole");
    cr_assert(kiln_temporary_name_matches(file.temporary));
    cr_assert_eq(kiln_temporary_file_commit(&file, true, &error), KILN_OK, "%s", error.text);
    struct kiln_buffer content;
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read(temporary_path("file"), 100, &content, &error), KILN_OK);
    cr_assert_str_eq(kiln_buffer_text(&content), "hELlo world!");
    kiln_buffer_fini(&content);
    cr_assert_eq(stat(temporary_path("file"), &attributes), 0);
    cr_assert_eq(attributes.st_mode & 07777, 0644);
    cr_assert_eq(directory_count(temporary_path("")), 1);
}

Test(temporary_file, discarded_leaves_what_was_there)
{
    struct kiln_temporary_file file;
    cr_assert_eq(kiln_file_write(temporary_path("file"), "old", 3, 0, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_create(directory, name, 0600, &file, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "new", 3, &error), KILN_OK);
    kiln_temporary_file_discard(&file);
    cr_assert_eq(directory_count(temporary_path("")), 1);
    struct stat attributes;
    cr_assert_eq(stat(temporary_path("file"), &attributes), 0);
    cr_assert_eq(attributes.st_size, 3);
}

/* All pieces together count, and no signal comes. */
Test(temporary_file, size_limit_of_the_process_is_an_error)
{
    struct rlimit limit;
    struct kiln_temporary_file file;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 10;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(kiln_temporary_file_create(directory, name, 0600, &file, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "123456", 6, &error), KILN_OK);
    cr_assert_eq(kiln_temporary_file_append(&file, "123456", 6, &error), KILN_IO);
    cr_assert(strstr(error.text, "'file'"), "%s", error.text);
    cr_assert_eq(kiln_temporary_file_append(&file, "1234", 4, &error), KILN_OK);
    kiln_temporary_file_discard(&file);
    cr_assert_eq(directory_count(temporary_path("")), 0);
}

Test(temporary_file, names_that_are_none)
{
    int other;
    const char *last;
    cr_assert_eq(kiln_file_open_parent("x/", &other, &last, &error), KILN_BAD_ARGUMENT);
    cr_assert_eq(kiln_file_open_parent("", &other, &last, &error), KILN_BAD_ARGUMENT);
    cr_assert_eq(kiln_file_open_parent(temporary_path("none/x"), &other, &last, &error),
                 KILN_NOT_FOUND);
}
