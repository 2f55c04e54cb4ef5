/* The cache directory: that it takes files, and on what file system. */
#include "cache/cache_directory.h"
#include "cache/cache_inventory.h"
#include "cache/cache_settings.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_entries.h"
#include "cli/text.h"
#include "runtime/support/file.h"
#include "runtime/support/temporary_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char check[] = "directory";
static const char elsewhere[] = "name a directory of a local disk in KILN_CACHE_DIR";

/* About a hundred programs. */
enum { SMALL_BYTES = 64 << 20 };

/* Numbers of statfs(2). */
static const struct {
    uint64_t magic;
    const char *name;
    bool is_network;
} file_systems[] = {
    {0x6969, "NFS", true},       {0xff534d42, "CIFS", true},   {0xfe534d42, "SMB", true},
    {0x517b, "SMB", true},       {0x0bd00bd0, "Lustre", true}, {0x47504653, "GPFS", true},
    {0x00c36400, "Ceph", true},  {0x19830326, "BeeGFS", true}, {0x5346414f, "AFS", true},
    {0x01021997, "9P", true},    {0x65735546, "FUSE", true},   {0xaad7aaea, "PanFS", true},
    {0xef53, "ext4", false},     {0x58465342, "XFS", false},   {0x9123683e, "Btrfs", false},
    {0x2fc12fc1, "ZFS", false},  {0x01021994, "tmpfs", false}, {0x794c7630, "overlayfs", false},
    {0xf2f52010, "F2FS", false}, {0x858458f6, "ramfs", false},
};

static void check_file_system(struct kiln_doctor *doctor, const char *path)
{
    struct statfs system;
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    if (statfs(path, &system) != 0)
        return;
    /* Some kernels widen the number with its sign. */
    uint64_t magic = (uint64_t)system.f_type & UINT32_MAX;
    uint64_t free_bytes = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize;
    const char *name = "another file system";
    bool is_network = false;
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++) {
        if (file_systems[i].magic == magic) {
            name = file_systems[i].name;
            is_network = file_systems[i].is_network;
        }
    }
    if (is_network)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, "file system",
                        "a local disk is faster; machines share kernels by KILN_CACHE_REMOTE, or "
                        "by a pack in KILN_CACHE_LAYERS",
                        "%s, which is a network file system or may be one, with %s free", name,
                        kiln_text_bytes(bytes, free_bytes));
    else if (free_bytes < SMALL_BYTES || (system.f_files && !system.f_ffree))
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, "file system", elsewhere,
                        "%s, which has room for only %s%s", name,
                        kiln_text_bytes(bytes, free_bytes),
                        system.f_files && !system.f_ffree ? ", and for no more files" : "");
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, "file system", NULL, "%s, %s free", name,
                        kiln_text_bytes(bytes, free_bytes));
}

static void check_limit(struct kiln_doctor *doctor)
{
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    uint64_t limit = kiln_cache_max_bytes_setting();
    if (limit && limit < SMALL_BYTES)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, "limit", "raise KILN_CACHE_MAX_SIZE",
                        "the directory may hold only %s", kiln_text_bytes(bytes, limit));
}

/* Really writes: a full disk, a quota and a read-only file system show in nothing else. */
static enum kiln_status try_to_write(const struct kiln_cache_directory *directory,
                                     struct kiln_error *error)
{
    static const char text[4096] = "kiln doctor";
    char name[KILN_TEMPORARY_NAME_BYTES];
    kiln_temporary_name_make(name, 0);
    enum kiln_status status = kiln_file_write_at(directory->descriptor, name, text, sizeof text,
                                                 KILN_FILE_PRIVATE | KILN_FILE_SYNC, error);
    (void)unlinkat(directory->descriptor, name, 0);
    /* The reason is last; the name of the temporary file helps nobody. */
    const char *reason = status != KILN_OK ? strrchr(error->text, ':') : NULL;
    if (reason) {
        char copy[256];
        (void)snprintf(copy, sizeof copy, "%s", reason);
        return kiln_error_set(error, status, "cannot write to '%s'%s", directory->path, copy);
    }
    return status;
}

static void look_into(struct kiln_doctor *doctor, const struct kiln_cache_directory *directory)
{
    struct kiln_error error;
    kiln_error_init(&error);
    if (try_to_write(directory, &error) != KILN_OK)
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, check, elsewhere, error.text);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s, which can be written to",
                        directory->path);
    check_file_system(doctor, directory->path);
    kiln_doctor_report_entries(doctor, "entries", KILN_CACHE_SOURCE_DIRECTORY);
}

/* The nearest directory above that is there, to be freed. */
static char *find_above(const char *path)
{
    char *above = kiln_cli_strdup(path);
    while (access(above, F_OK) != 0 && strcmp(above, "/") != 0 && strcmp(above, ".") != 0) {
        char *slash = strrchr(above, '/');
        if (slash)
            slash[slash == above] = '\0';
        else
            (void)strcpy(above, ".");
    }
    return above;
}

/* The first kernel makes the directory. */
static void look_above(struct kiln_doctor *doctor, const char *path)
{
    char *above = find_above(path);
    char *trial = NULL;
    bool is_made = asprintf(&trial, "%s/.kiln-XXXXXX", above) > 0 && mkdtemp(trial);
    if (!is_made)
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check, elsewhere,
                        "'%s' is not there and cannot be made: '%s': %s", path, above,
                        strerror(errno));
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s, which the first kernel makes",
                        path);
    if (is_made)
        (void)rmdir(trial);
    check_file_system(doctor, above);
    free(trial);
    free(above);
}

void kiln_doctor_check_cache_directory(struct kiln_doctor *doctor)
{
    struct kiln_cache_directory directory = {.descriptor = -1};
    struct kiln_error error;
    char *path = NULL;
    kiln_error_init(&error);
    enum kiln_status status = kiln_cache_directory_choose(NULL, &path, &error);
    if (status == KILN_OK && path)
        status = kiln_cache_directory_open_existing(path, &directory, &error);
    if (status == KILN_OK && !path)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check,
                        "unset the variable, unless each process shall compile for itself",
                        "none: %s, so compiled kernels are kept in memory only",
                        kiln_cache_is_disabled() ? "HIPDNN_DISABLE_CACHE is on"
                                                 : "KILN_CACHE_DIR is empty");
    else if (status == KILN_OK)
        look_into(doctor, &directory);
    else if (status == KILN_NOT_FOUND && path)
        look_above(doctor, path);
    else if (status == KILN_NOT_FOUND)
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WARNING, check, NULL, error.text);
    else
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, check, elsewhere, error.text);
    check_limit(doctor);
    kiln_cache_directory_close(&directory);
    free(path);
}
