/*
 * Every file-system call that writing and reading a pack make fails once, in several ways, and
 * again from there on for good. Each time: the old pack stays or the new one is there, whole; what
 * fails says why; nothing wrong is found, and neither descriptors nor files are left.
 */
#include "cache/entry_format.h"
#include "cache/pack_file.h"
#include "runtime/support/file.h"

#include "tests/cache/fault_wrappers.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/runtime/support/temporary_directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct fault fault_list[] = {
    {FAULT_ONCE, EIO},    {FAULT_ONCE, ENOSPC}, {FAULT_ONCE, EDQUOT},  {FAULT_ONCE, EACCES},
    {FAULT_ONCE, ESTALE}, {FAULT_ONCE, EINTR},  {FAULT_STAYS, ENOSPC}, {FAULT_STAYS, EIO},
    {FAULT_STAYS, EROFS}, {FAULT_SHORT, 0},
};

enum { OLD_ENTRIES = 2, ENTRIES = 6, PAYLOAD_BYTES = 300 };

static char directory[2048]; /* with the pack and nothing else */
static char path[2100];
static struct kiln_buffer old_pack;
static struct kiln_buffer new_pack;
static unsigned faults;

static void fault(const char *text)
{
    if (faults++ < 20)
        (void)fprintf(stderr, "fault: %s (%s)\n", text, fault_wrappers_describe());
}

static bool went_well(enum kiln_status status, const struct kiln_error *error)
{
    if (status != KILN_OK && (error->status != status || strlen(error->text) < 10))
        fault("a failure without a sentence");
    return status == KILN_OK;
}

static bool add(struct kiln_pack_writer *writer, unsigned number)
{
    unsigned char payload[PAYLOAD_BYTES];
    struct kiln_error error;
    struct kiln_buffer entry;
    bool added;
    kiln_error_init(&error);
    kiln_buffer_init(&entry);
    struct kiln_cache_key key = sample_key(number);
    sample_payload_fill(payload, sizeof payload, number, number);
    enum kiln_status status =
        kiln_entry_encode(&key, NULL, payload, sizeof payload, &entry, &error);
    if (status == KILN_OK)
        status = kiln_pack_writer_add(writer, entry.data, entry.size, &added, &error);
    kiln_buffer_fini(&entry);
    kiln_cache_key_fini(&key);
    return went_well(status, &error);
}

/* The entries come in no order: the writer makes a second file. */
static bool write_pack(unsigned count)
{
    struct kiln_error error;
    struct kiln_pack_writer *writer = NULL;
    kiln_error_init(&error);
    if (!went_well(kiln_pack_writer_create(path, &writer, &error), &error))
        return false;
    bool good = true;
    for (unsigned i = 0; i < count; i++)
        good = add(writer, i) && good;
    bool finished = went_well(kiln_pack_writer_finish(writer, &error), &error);
    if (finished && !good)
        fault("a pack without one of its entries is finished");
    kiln_pack_writer_destroy(writer);
    return finished;
}

/* Returns how many entries were found. */
static unsigned read_pack(void)
{
    struct kiln_error error;
    struct kiln_pack_file *pack = NULL;
    unsigned found = 0;
    kiln_error_init(&error);
    if (!went_well(kiln_pack_file_open(path, &pack, &error), &error))
        return 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct kiln_cache_key key = sample_key(i);
        struct kiln_buffer entry;
        struct kiln_entry_view view;
        kiln_buffer_init(&entry);
        kiln_error_init(&error);
        if (went_well(kiln_pack_file_lookup(pack, &key, 0, &entry, &error), &error)) {
            if (kiln_entry_decode(entry.data, entry.size, &view, &error) != KILN_OK ||
                view.payload_bytes != PAYLOAD_BYTES ||
                !sample_payload_is_whole(view.payload, PAYLOAD_BYTES, i))
                fault("a wrong entry");
            found++;
        }
        kiln_buffer_fini(&entry);
        kiln_cache_key_fini(&key);
    }
    kiln_pack_file_close(pack);
    return found;
}

static struct kiln_buffer content(void)
{
    struct kiln_error error;
    struct kiln_buffer bytes;
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    if (kiln_file_read(path, 1 << 20, &bytes, &error) != KILN_OK)
        fault(error.text);
    return bytes;
}

static bool is_equal(const struct kiln_buffer *a, const struct kiln_buffer *b)
{
    return a->size == b->size && a->size != 0 && memcmp(a->data, b->data, a->size) == 0;
}

static void make_place(unsigned long number)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%lu", number);
    (void)snprintf(directory, sizeof directory, "%s", temporary_path(name));
    (void)snprintf(path, sizeof path, "%s/pack", directory);
    if (mkdir(directory, 0700) != 0)
        fault("cannot make a directory");
}

/* Returns how many calls were made. */
static unsigned long run(struct fault what, unsigned long at)
{
    static unsigned long number;
    struct kiln_error error;
    make_place(number++);
    int descriptors = directory_count("/proc/self/fd");
    kiln_error_init(&error);
    if (kiln_file_write(path, old_pack.data, old_pack.size, 0, &error) != KILN_OK)
        fault(error.text);
    fault_wrappers_arm(what, at);
    bool written = write_pack(ENTRIES);
    unsigned found = read_pack();
    unsigned long made = fault_wrappers_disarm();
    if (what.kind == FAULT_NONE && (!written || found != ENTRIES))
        fault("not all of it works without a fault");
    if (what.kind == FAULT_SHORT && (!written || found != ENTRIES))
        fault("a short read or write is not continued");
    if (directory_count("/proc/self/fd") != descriptors)
        fault("descriptors leak");
    struct kiln_buffer bytes = content();
    bool is_new = is_equal(&bytes, &new_pack);
    if (written ? !is_new : !is_new && !is_equal(&bytes, &old_pack))
        fault("the pack is neither the old one nor the new one");
    kiln_buffer_fini(&bytes);
    if (directory_count(directory) != 1 && !fault_wrappers_unlink_failed())
        fault("a temporary file is left");
    if (read_pack() != (is_new ? (unsigned)ENTRIES : (unsigned)OLD_ENTRIES))
        fault("afterwards an entry is not found");
    if (unlink(path) != 0)
        fault("the pack cannot be removed");
    (void)rmdir(directory);
    return made;
}

int main(void)
{
    if (temporary_directory_make() == NULL) {
        perror("cannot make a temporary directory");
        return 1;
    }
    (void)umask(022);
    (void)snprintf(path, sizeof path, "%s", temporary_path("pack"));
    if (!write_pack(OLD_ENTRIES))
        return 1;
    old_pack = content();
    if (!write_pack(ENTRIES))
        return 1;
    new_pack = content();
    unsigned long runs = 0;
    unsigned long most = run((struct fault){FAULT_NONE, 0}, 0);
    for (size_t i = 0; i < sizeof fault_list / sizeof *fault_list; i++) {
        unsigned long made = 1;
        for (unsigned long at = 1; at <= made; at++, runs++)
            made = run(fault_list[i], at);
        most = made > most ? made : most;
    }
    kiln_buffer_fini(&old_pack);
    kiln_buffer_fini(&new_pack);
    temporary_directory_remove();
    (void)printf("%lu runs with a fault, up to %lu calls in one, %u faults\n", runs, most, faults);
    return faults != 0 || runs < 100;
}
