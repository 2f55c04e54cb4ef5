#include "runtime/support/file.h"

#include "tests/runtime/support/temporary_directory.h"
#include "tests/runtime/support/unprivileged.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
}

TestSuite(file, .init = set_up, .fini = temporary_directory_remove, .timeout = 60);

static enum kiln_status write_text(const char *path, const char *text, struct kiln_error *error)
{
    return kiln_file_write(path, text, strlen(text), 0, error);
}

static void assert_content(const char *path, const char *text)
{
    struct kiln_error error;
    struct kiln_buffer content;
    kiln_error_init(&error);
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read(path, 1 << 20, &content, &error), KILN_OK, "%s", error.text);
    cr_assert_str_eq(kiln_buffer_text(&content), text);
    cr_assert_eq(content.size, strlen(text));
    kiln_buffer_fini(&content);
}

static mode_t mode_of(const char *path)
{
    struct stat attributes;
    cr_assert_eq(stat(path, &attributes), 0);
    return attributes.st_mode & 07777;
}

Test(file, written_content_is_read_back)
{
    struct kiln_error error;
    kiln_error_init(&error);
    const char *path = temporary_path("a");
    cr_assert_eq(write_text(path, "first", &error), KILN_OK, "%s", error.text);
    assert_content(path, "first");
    cr_assert_eq(write_text(path, "2nd", &error), KILN_OK, "%s", error.text);
    assert_content(path, "2nd");
    cr_assert_eq(kiln_file_write(path, NULL, 0, KILN_FILE_SYNC, &error), KILN_OK, "%s", error.text);
    assert_content(path, "");
    cr_assert_eq(directory_count(temporary_path(".")), 1, "a temporary file was left");
}

Test(file, modes)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_file_write(temporary_path("a"), "", 0, 0, &error), KILN_OK);
    cr_assert_eq(mode_of(temporary_path("a")), 0644);
    cr_assert_eq(kiln_file_write(temporary_path("b"), "", 0, KILN_FILE_PRIVATE, &error), KILN_OK);
    cr_assert_eq(mode_of(temporary_path("b")), 0600);
}

Test(file, write_resolves_names_without_a_directory)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(chdir(temporary_path(".")), 0);
    cr_assert_eq(write_text("plain", "x", &error), KILN_OK, "%s", error.text);
    assert_content(temporary_path("plain"), "x");
    cr_assert_eq(write_text("", "x", &error), KILN_BAD_ARGUMENT);
    cr_assert_eq(write_text("dir/", "x", &error), KILN_BAD_ARGUMENT);
    cr_assert_eq(write_text("dir/x", "x", &error), KILN_NOT_FOUND);
    cr_assert_str_eq(error.text, "cannot open the directory 'dir': No such file or directory");
}

Test(file, write_replaces_a_link_and_not_what_it_names)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(write_text(temporary_path("target"), "old", &error), KILN_OK);
    cr_assert_eq(symlink("target", temporary_path("link")), 0);
    cr_assert_eq(write_text(temporary_path("link"), "new", &error), KILN_OK);
    assert_content(temporary_path("target"), "old");
    assert_content(temporary_path("link"), "new");
}

static enum kiln_status follow_and_write(const char *name, struct kiln_error *error)
{
    return kiln_file_write(temporary_path(name), "new", 3, KILN_FILE_FOLLOW, error);
}

static bool is_link(const char *name)
{
    struct stat attributes;
    return lstat(temporary_path(name), &attributes) == 0 && S_ISLNK(attributes.st_mode);
}

Test(file, write_follows_links_where_a_user_chose_the_name)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(mkdir(temporary_path("d"), 0700), 0);
    cr_assert_eq(write_text(temporary_path("d/target"), "old", &error), KILN_OK);
    cr_assert_eq(symlink("d/first", temporary_path("link")), 0);
    cr_assert_eq(symlink("target", temporary_path("d/first")), 0);
    cr_assert_eq(follow_and_write("link", &error), KILN_OK, "%s", error.text);
    cr_assert(is_link("link") && is_link("d/first"));
    assert_content(temporary_path("d/target"), "new");
    cr_assert_eq(symlink(temporary_path("d/later"), temporary_path("dangling")), 0);
    cr_assert_eq(follow_and_write("dangling", &error), KILN_OK, "%s", error.text);
    cr_assert(is_link("dangling"));
    assert_content(temporary_path("d/later"), "new");
    cr_assert_eq(symlink("circle", temporary_path("circle")), 0);
    cr_assert_eq(follow_and_write("circle", &error), KILN_IO);
    cr_assert_not_null(strstr(error.text, "symbolic links"), "%s", error.text);
    cr_assert(is_link("circle"));
}

/* A rename would put a file in their place: as root, in that of /dev/null. */
Test(file, write_refuses_what_is_no_ordinary_file)
{
    struct kiln_error error;
    struct stat attributes;
    kiln_error_init(&error);
    cr_assert_eq(mkfifo(temporary_path("fifo"), 0600), 0);
    cr_assert_eq(symlink("fifo", temporary_path("link")), 0);
    for (unsigned flags = 0; flags <= KILN_FILE_FOLLOW; flags += KILN_FILE_FOLLOW) {
        cr_assert_eq(kiln_file_write(temporary_path("fifo"), "x", 1, flags, &error), KILN_IO);
        cr_assert_not_null(strstr(error.text, "fifo': it is not an ordinary file\nhint: "), "%s",
                           error.text);
        cr_assert_eq(kiln_file_write(temporary_path("."), "x", 1, flags, &error), KILN_IO);
        cr_assert_not_null(strstr(error.text, "it is a directory"), "%s", error.text);
    }
    cr_assert_eq(follow_and_write("link", &error), KILN_IO);
    cr_assert_eq(lstat(temporary_path("fifo"), &attributes), 0);
    cr_assert(S_ISFIFO(attributes.st_mode));
    cr_assert_eq(directory_count(temporary_path(".")), 2);
}

Test(file, failed_replacement_leaves_no_temporary_file)
{
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(mkdir(temporary_path("taken"), 0700), 0);
    int directory = open(temporary_path("."), O_RDONLY | O_DIRECTORY);
    cr_assert_eq(kiln_file_write_at(directory, "taken", "x", 1, 0, &error), KILN_IO);
    cr_assert_eq(close(directory), 0);
    cr_assert_not_null(strstr(error.text, "cannot replace 'taken'"), "%s", error.text);
    cr_assert_eq(directory_count(temporary_path(".")), 1);
}

Test(file, size_limit_of_the_process_is_an_error_and_no_signal)
{
    struct kiln_error error;
    kiln_error_init(&error);
    const char *path = temporary_path("a");
    cr_assert_eq(write_text(path, "old", &error), KILN_OK);
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
    static char bytes[101];
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(kiln_file_write(path, bytes, 100, 0, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_file_write(path, bytes, 101, 0, &error), KILN_IO);
    cr_assert_str_eq(error.text, "cannot write 'a': File too large");
    struct stat attributes;
    cr_assert_eq(stat(path, &attributes), 0);
    cr_assert_eq(attributes.st_size, 100, "the old content has to stay");
    cr_assert_eq(directory_count(temporary_path(".")), 1, "a temporary file was left");
}

/* A file system of 16 KiB, in a mount name space of this process's own. */
static bool mount_small(const char *path)
{
    return mkdir(path, 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("kiln", path, "tmpfs", 0, "size=16k") == 0;
}

Test(file, full_disk_keeps_the_old_file)
{
    if (!mount_small(temporary_path("small")))
        skip_test("this user may not mount a small file system");
    struct kiln_error error;
    kiln_error_init(&error);
    static char bytes[64 * 1024];
    const char *path = temporary_path("small/a");
    cr_assert_eq(write_text(path, "old", &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_file_write(path, bytes, sizeof bytes, 0, &error), KILN_IO);
    cr_assert_str_eq(error.text, "cannot write 'a': No space left on device");
    assert_content(path, "old");
    cr_assert_eq(directory_count(temporary_path("small")), 1, "a temporary file was left");
    cr_assert_eq(umount(temporary_path("small")), 0);
}

Test(file, read_limit)
{
    struct kiln_error error;
    struct kiln_buffer content;
    kiln_error_init(&error);
    kiln_buffer_init(&content);
    const char *path = temporary_path("a");
    cr_assert_eq(write_text(path, "12345", &error), KILN_OK);
    cr_assert_eq(kiln_file_read(path, 4, &content, &error), KILN_BAD_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "more than 4 bytes"));
    cr_assert_null(content.data);
    cr_assert_eq(kiln_file_read(path, 5, &content, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(content.size, 5);
    kiln_buffer_append_text(&content, "6");
    cr_assert_str_eq(content.data, "123456", "the content is a buffer like any other");
    kiln_buffer_fini(&content);
    cr_assert_eq(kiln_file_read(path, SIZE_MAX, &content, &error), KILN_OK, "%s", error.text);
    kiln_buffer_fini(&content);
}

Test(file, read_of_a_pipe_grows_up_to_the_limit)
{
    enum { SIZE = 200000 };
    for (int over = 0; over < 2; over++) {
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            static char bytes[SIZE];
            memset(bytes, 'x', sizeof bytes);
            (void)close(ends[0]);
            size_t written = 0;
            while (written < SIZE) {
                ssize_t count = write(ends[1], bytes + written, SIZE - written);
                if (count <= 0)
                    _exit(0);
                written += (size_t)count;
            }
            _exit(0);
        }
        (void)close(ends[1]);
        struct kiln_error error;
        struct kiln_buffer content;
        kiln_error_init(&error);
        kiln_buffer_init(&content);
        enum kiln_status status =
            kiln_file_read_descriptor(ends[0], "pipe", (size_t)(SIZE - over), &content, &error);
        (void)close(ends[0]);
        if (over) {
            cr_assert_eq(status, KILN_BAD_ARGUMENT);
        } else {
            cr_assert_eq(status, KILN_OK, "%s", error.text);
            cr_assert_eq(content.size, SIZE);
            cr_assert_eq(strspn(content.data, "x"), SIZE);
        }
        kiln_buffer_fini(&content);
    }
}

Test(file, read_of_a_file_that_tells_no_size)
{
    struct kiln_error error;
    struct kiln_buffer content;
    kiln_error_init(&error);
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read("/proc/self/status", 1 << 20, &content, &error), KILN_OK);
    cr_assert_not_null(strstr(kiln_buffer_text(&content), "Pid:"));
    kiln_buffer_fini(&content);
}

Test(file, read_errors_name_the_path)
{
    struct kiln_error error;
    struct kiln_buffer content;
    kiln_error_init(&error);
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read("no/such", 10, &content, &error), KILN_NOT_FOUND);
    cr_assert_str_eq(error.text, "cannot open 'no/such': No such file or directory");
    cr_assert_eq(kiln_file_read("/", 10, &content, &error), KILN_IO);
    cr_assert_str_eq(error.text, "cannot read '/': it is a directory");
}

Test(file, directories_are_made_with_their_parents)
{
    struct kiln_error error;
    kiln_error_init(&error);
    const char *path = temporary_path("a/b//c/");
    cr_assert_eq(kiln_directory_make(path, 0750, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(mode_of(temporary_path("a")), 0750);
    cr_assert_eq(mode_of(temporary_path("a/b/c")), 0750);
    cr_assert_eq(kiln_directory_make(path, 0700, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(mode_of(temporary_path("a/b/c")), 0750, "an old directory keeps its mode");
    cr_assert_eq(kiln_directory_make("/", 0700, &error), KILN_OK);
    cr_assert_eq(kiln_directory_make("", 0700, &error), KILN_BAD_ARGUMENT);

    cr_assert_eq(write_text(temporary_path("file"), "", &error), KILN_OK);
    cr_assert_eq(kiln_directory_make(temporary_path("file"), 0700, &error), KILN_BAD_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "Not a directory"), "%s", error.text);
    cr_assert_eq(kiln_directory_make(temporary_path("file/x"), 0700, &error), KILN_BAD_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "Not a directory"), "%s", error.text);
}

static int write_where_forbidden(void)
{
    struct kiln_error error;
    kiln_error_init(&error);
    if (chmod(temporary_path("."), 0500) != 0)
        return 2;
    if (write_text(temporary_path("x"), "x", &error) != KILN_IO ||
        strstr(error.text, "cannot create a temporary file for 'x': Permission denied") == NULL)
        return 3;
    if (kiln_directory_make(temporary_path("d"), 0700, &error) != KILN_IO ||
        strstr(error.text, "Permission denied") == NULL)
        return 4;
    /* What exists is no reason to fail, however little may be created around it. */
    return kiln_directory_make(temporary_path("."), 0700, &error) == KILN_OK ? 0 : 5;
}

Test(file, no_permission)
{
    cr_assert_eq(unprivileged_run(temporary_path("."), write_where_forbidden), 0);
}
