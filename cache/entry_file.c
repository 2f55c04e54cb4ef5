#include "cache/entry_file.h"

#include "cache/cache_directory.h"
#include "runtime/support/file.h"
#include "runtime/support/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char hex_digits[] = "0123456789abcdef";

/* By format version. */
static const char *const suffixes[] = {"", ".kiln", ".kiln2", ".kiln3"};

_Static_assert(sizeof suffixes / sizeof *suffixes == KILN_ENTRY_FORMAT_VERSION + 1,
               "each format has a suffix");

void kiln_entry_name_set_id(struct kiln_entry_name *name, const struct kiln_entry_file_id *id)
{
    char mark[1 + KILN_ENTRY_MARK_HEX + 1] = "";
    if (id->mark != 0)
        (void)snprintf(mark, sizeof mark, "-%016" PRIx64, id->mark);
    (void)snprintf(name->file, sizeof name->file, "%016" PRIx64 "%016" PRIx64 "%s%s", id->hash.high,
                   id->hash.low, mark, suffixes[id->format]);
    memcpy(name->fanout, name->file, 2);
    name->fanout[2] = '\0';
}

void kiln_entry_name_set(struct kiln_entry_name *name, const struct kiln_cache_key *key,
                         uint64_t mark)
{
    const struct kiln_entry_file_id id = {.hash = {.high = key->hash_high, .low = key->hash_low},
                                          .mark = mark,
                                          .format = KILN_ENTRY_FORMAT_VERSION};
    kiln_entry_name_set_id(name, &id);
}

bool kiln_entry_name_parse(const char *fanout, const char *file, struct kiln_entry_file_id *ret_id)
{
    struct kiln_entry_file_id id = {.mark = 0};
    const char *rest = file + KILN_CACHE_HASH_HEX;
    if (strspn(file, hex_digits) != KILN_CACHE_HASH_HEX || strncmp(file, fanout, 2) != 0 ||
        sscanf(file, "%16" SCNx64 "%16" SCNx64, &id.hash.high, &id.hash.low) != 2)
        return false;
    if (*rest == '-') {
        if (strspn(rest + 1, hex_digits) != KILN_ENTRY_MARK_HEX ||
            sscanf(rest + 1, "%16" SCNx64, &id.mark) != 1 || id.mark == 0)
            return false;
        rest += 1 + KILN_ENTRY_MARK_HEX;
    }
    for (id.format = KILN_ENTRY_FORMAT_VERSION; id.format != 0; id.format--)
        if (strcmp(rest, suffixes[id.format]) == 0)
            break;
    if (id.format == 0 || (id.mark != 0 && id.format < KILN_ENTRY_FORMAT_VERSION))
        return false;
    if (ret_id != NULL)
        *ret_id = id;
    return true;
}

void kiln_entry_fini(struct kiln_entry *entry)
{
    kiln_buffer_fini(&entry->bytes);
}

static enum kiln_status verify(struct kiln_entry *entry, const char *file, struct kiln_error *error)
{
    struct kiln_entry_file_id id;
    enum kiln_status status =
        kiln_entry_decode(entry->bytes.data, entry->bytes.size, &entry->view, error);
    if (status != KILN_OK)
        return status;
    struct kiln_hash128 hash = kiln_hash128(entry->view.key, entry->view.key_bytes);
    if (!kiln_entry_name_parse(file, file, &id) || id.hash.high != hash.high ||
        id.hash.low != hash.low)
        return kiln_error_set(error, KILN_CORRUPT, "its key does not hash to its name");
    if (id.mark != 0 && id.mark != kiln_entry_view_mark(&entry->view))
        return kiln_error_set(error, KILN_CORRUPT, "its name is of another compiler");
    return KILN_OK;
}

/* Without a descriptor: a symbolic link is the one thing that can be told and removed; the rest is
 * left alone. */
static enum kiln_status judge_unopened(int fanout, const char *file, struct stat *ret_identity,
                                       struct kiln_error *error)
{
    if (errno == ENOENT)
        return kiln_error_set(error, KILN_NOT_FOUND, "there is no such entry");
    enum kiln_status status = kiln_error_set(error, KILN_IO, "it cannot be opened: %m");
    struct stat attributes;
    if (fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(attributes.st_mode)) {
        *ret_identity = attributes;
        status = kiln_error_set(error, KILN_CORRUPT, "it is a symbolic link");
    }
    return status;
}

/* A time in the future by more than the interval is of a clock that was wrong; left alone it would
 * make the entry look new for ever. */
static bool is_news(const struct stat *attributes)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    /* A file's time may be any number. */
    return attributes->st_mtim.tv_sec <= now.tv_sec - KILN_ENTRY_USE_INTERVAL_S ||
           attributes->st_mtim.tv_sec >= now.tv_sec + KILN_ENTRY_USE_INTERVAL_S;
}

/* UTIME_NOW: on a network file system the server's clock, which all machines share. In a place that
 * cannot be written nothing is noted, and nothing is evicted either. */
static const struct timespec used_now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};

bool kiln_entry_file_note_use(int fanout, const char *file, bool is_now)
{
    struct stat attributes;
    if (fstatat(fanout, file, &attributes, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(attributes.st_mode))
        return false;
    if (is_now || is_news(&attributes))
        (void)utimensat(fanout, file, used_now, AT_SYMLINK_NOFOLLOW);
    return true;
}

/* Checked before the whole file is read: a sparse one of the largest size costs nothing to make. */
static enum kiln_status check_header(int descriptor, const struct stat *attributes,
                                     struct kiln_error *error)
{
    unsigned char header[KILN_ENTRY_HEADER_BYTES] = {0};
    ssize_t count;
    do {
        count = pread(descriptor, header, sizeof header, 0);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return kiln_error_set(error, KILN_IO, "it cannot be read: %m");
    return kiln_entry_check_header(header, (size_t)attributes->st_size, error);
}

static enum kiln_status read_once(int fanout, const char *file, unsigned flags,
                                  struct kiln_entry *ret_entry, struct stat *ret_identity,
                                  struct kiln_error *error)
{
    int descriptor;
    do {
        /* O_NONBLOCK: a FIFO at this place must not hang us. */
        descriptor =
            openat(fanout, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return judge_unopened(fanout, file, ret_identity, error);

    struct kiln_entry entry;
    kiln_buffer_init(&entry.bytes);
    struct stat attributes;
    enum kiln_status status = KILN_OK;
    if (fstat(descriptor, &attributes) != 0) {
        status = kiln_error_set(error, KILN_IO, "it cannot be inspected: %m");
    } else if (!S_ISREG(attributes.st_mode)) {
        status = kiln_error_set(error, KILN_CORRUPT, "it is not an ordinary file");
    } else {
        const char *reason =
            kiln_cache_directory_distrust(&attributes, (flags & KILN_ENTRY_FILE_OF_LAYER) != 0);
        if (reason != NULL)
            status = kiln_error_set(error, KILN_CORRUPT, "%s", reason);
        else if (attributes.st_size <= KILN_ENTRY_LIMIT_BYTES)
            status = check_header(descriptor, &attributes, error);
    }
    if (status == KILN_OK) {
        status = kiln_file_read_descriptor(descriptor, file, KILN_ENTRY_LIMIT_BYTES, &entry.bytes,
                                           error);
        if (status == KILN_BAD_ARGUMENT) /* above the limit */
            error->status = status = KILN_CORRUPT;
        else if (status == KILN_NOT_FOUND) /* read() says so of a file that is there */
            error->status = status = KILN_IO;
    }
    if (status == KILN_OK)
        status = verify(&entry, file, error);
    if (status == KILN_OK && (flags & KILN_ENTRY_FILE_NOTE_USE) != 0 && is_news(&attributes))
        (void)futimens(descriptor, used_now);
    (void)close(descriptor);
    if (status == KILN_OK) {
        *ret_entry = entry;
        return KILN_OK;
    }
    if (status == KILN_CORRUPT)
        *ret_identity = attributes;
    kiln_buffer_fini(&entry.bytes);
    return status;
}

/* On a network file system a file that another machine replaces while it is read fails with ESTALE;
 * the second attempt opens the new one, or finds none. */
enum kiln_status kiln_entry_file_read(int fanout, const char *file, unsigned flags,
                                      struct kiln_entry *ret_entry, struct stat *ret_identity,
                                      struct kiln_error *error)
{
    enum kiln_status status = read_once(fanout, file, flags, ret_entry, ret_identity, error);
    if (status == KILN_IO)
        status = read_once(fanout, file, flags, ret_entry, ret_identity, error);
    return status;
}

bool kiln_entry_file_remove(int fanout, const char *file, const struct stat *identity)
{
    struct stat now;
    return fstatat(fanout, file, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           now.st_dev == identity->st_dev && now.st_ino == identity->st_ino &&
           /* The number of a file that is gone may be given to the one that takes its place. */
           now.st_ctim.tv_sec == identity->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == identity->st_ctim.tv_nsec &&
           kiln_cache_directory_clear_place(fanout, file);
}
