/*
 * Packs: what is written is found; every damage is noticed.
 */
#include "cache/pack_file.h"

#include "cache/cache_store.h"
#include "cache/entry_format.h"
#include "cache/pack_format.h"
#include "runtime/support/file.h"
#include "tests/cache/sample_key.h"
#include "tests/cache/sample_payload.h"
#include "tests/cache/store_fixture.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kiln_error error;
static char path[4096];

static void set_up(void)
{
    umask(022);
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    (void)snprintf(path, sizeof path, "%s", temporary_path("pack"));
    captured_log_start(KILN_LOG_WARN);
}

TestSuite(pack_file, .init = set_up, .fini = temporary_directory_remove, .timeout = 300);

/* Sizes of payloads that need each amount of padding. */
static size_t payload_bytes(unsigned number)
{
    return 500 + 13 * (number % 200);
}

static struct kiln_buffer entry_of(unsigned number)
{
    unsigned char payload[4096];
    struct kiln_cache_key key = sample_key(number);
    struct kiln_buffer entry;
    kiln_buffer_init(&entry);
    sample_payload_fill(payload, payload_bytes(number), number, number);
    cr_assert_eq(kiln_entry_encode(&key, NULL, payload, payload_bytes(number), &entry, &error),
                 KILN_OK);
    kiln_cache_key_fini(&key);
    return entry;
}

static bool add(struct kiln_pack_writer *writer, unsigned number)
{
    struct kiln_buffer entry = entry_of(number);
    bool added = false;
    cr_assert_eq(kiln_pack_writer_add(writer, entry.data, entry.size, &added, &error), KILN_OK,
                 "%s", error.text);
    kiln_buffer_fini(&entry);
    return added;
}

static void write_pack(const char *file, const unsigned *numbers, size_t count)
{
    struct kiln_pack_writer *writer = NULL;
    cr_assert_eq(kiln_pack_writer_create(file, &writer, &error), KILN_OK, "%s", error.text);
    for (size_t i = 0; i < count; i++)
        (void)add(writer, numbers[i]);
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK, "%s", error.text);
    kiln_pack_writer_destroy(writer);
}

static const unsigned five[] = {1, 2, 3, 4, 5};

static struct kiln_buffer content_of(const char *file)
{
    struct kiln_buffer content;
    kiln_buffer_init(&content);
    cr_assert_eq(kiln_file_read(file, 1 << 20, &content, &error), KILN_OK, "%s", error.text);
    return content;
}

enum finding { MISS, HIT, WRONG };

/* No assertion of the framework: they are slow, and this runs for tens of thousands of cases. */
static enum finding find(const struct kiln_pack_file *pack, unsigned number)
{
    struct kiln_cache_key key = sample_key(number);
    struct kiln_buffer entry;
    struct kiln_entry_view view;
    kiln_buffer_init(&entry);
    kiln_error_init(&error);
    enum finding finding = MISS;
    enum kiln_status status = kiln_pack_file_lookup(pack, &key, 0, &entry, &error);
    if (status == KILN_OK) {
        finding = WRONG;
        if (kiln_entry_decode(entry.data, entry.size, &view, &error) == KILN_OK &&
            view.key_bytes == key.bytes.size &&
            memcmp(view.key, key.bytes.data, view.key_bytes) == 0 &&
            view.payload_bytes == payload_bytes(number) &&
            sample_payload_is_whole(view.payload, view.payload_bytes, number))
            finding = HIT;
    } else if (error.status != status || strlen(error.text) < 10 || entry.size != 0) {
        finding = WRONG;
    }
    kiln_buffer_fini(&entry);
    kiln_cache_key_fini(&key);
    return finding;
}

Test(pack_file, entries_are_found)
{
    write_pack(path, five, 5);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_pack_file_entry_count(pack), 5);
    for (unsigned i = 1; i <= 5; i++)
        cr_expect_eq(find(pack, i), HIT, "%u: %s", i, error.text);
    for (unsigned i = 6; i < 200; i++)
        cr_expect_eq(find(pack, i), MISS);
    for (size_t i = 0; i < 5; i++) {
        struct kiln_buffer entry;
        struct kiln_entry_view view;
        kiln_buffer_init(&entry);
        cr_assert_eq(kiln_pack_file_read_entry(pack, i, &entry, &error), KILN_OK);
        cr_expect_eq(kiln_pack_file_entry_bytes(pack, i), entry.size);
        cr_assert_eq(kiln_entry_decode(entry.data, entry.size, &view, &error), KILN_OK);
        cr_expect_eq(kiln_pack_hash_compare(kiln_hash128(view.key, view.key_bytes),
                                            kiln_pack_file_entry_hash(pack, i)),
                     0);
        if (i != 0)
            cr_expect_lt(kiln_pack_hash_compare(kiln_pack_file_entry_hash(pack, i - 1),
                                                kiln_pack_file_entry_hash(pack, i)),
                         0);
        kiln_buffer_fini(&entry);
    }
    kiln_pack_file_close(pack);
}

Test(pack_file, without_entries)
{
    write_pack(path, NULL, 0);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_pack_file_entry_count(pack), 0);
    cr_assert_eq(find(pack, 1), MISS);
    kiln_pack_file_close(pack);
    struct kiln_buffer content = content_of(path);
    cr_assert_eq(content.size, KILN_PACK_HEADER_BYTES);
    kiln_buffer_fini(&content);
}

/* Whatever order the entries come in, and however often. */
Test(pack_file, the_same_entries_give_the_same_bytes)
{
    enum { COUNT = 300 };
    unsigned numbers[2 * COUNT];
    unsigned state = 1;
    struct kiln_buffer first = {0};
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 2 * COUNT; i++)
            numbers[i] = i % COUNT;
        for (unsigned i = 2 * COUNT - 1; i > 0 && round != 0; i--) {
            unsigned other = sample_random(&state) % (i + 1);
            unsigned number = numbers[i];
            numbers[i] = numbers[other];
            numbers[other] = number;
        }
        write_pack(path, numbers, 2 * COUNT);
        struct kiln_buffer content = content_of(path);
        if (round == 0) {
            first = content;
            continue;
        }
        cr_assert_eq(content.size, first.size);
        cr_assert_eq(memcmp(content.data, first.data, content.size), 0, "round %u", round);
        kiln_buffer_fini(&content);
    }
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_pack_file_entry_count(pack), COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        cr_assert_eq(find(pack, i), HIT);
    kiln_pack_file_close(pack);
    cr_assert_eq(directory_count(temporary_path("")), 1);
    /* In the order of a pack nothing has to be sorted. */
    struct kiln_pack_writer *writer = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK);
    cr_assert_eq(kiln_pack_writer_create(temporary_path("again"), &writer, &error), KILN_OK);
    for (size_t i = 0; i < COUNT; i++) {
        struct kiln_buffer entry;
        bool added = false;
        kiln_buffer_init(&entry);
        cr_assert_eq(kiln_pack_file_read_entry(pack, i, &entry, &error), KILN_OK);
        cr_assert_eq(kiln_pack_writer_add(writer, entry.data, entry.size, &added, &error), KILN_OK);
        cr_assert(added);
        kiln_buffer_fini(&entry);
    }
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK);
    kiln_pack_writer_destroy(writer);
    kiln_pack_file_close(pack);
    struct kiln_buffer again = content_of(temporary_path("again"));
    cr_assert_eq(again.size, first.size);
    cr_assert_eq(memcmp(again.data, first.data, first.size), 0);
    kiln_buffer_fini(&again);
    kiln_buffer_fini(&first);
}

/* Whoever changes the bytes of packs needs a new version of the format. */
Test(pack_file, the_format_stays)
{
    write_pack(path, five, 5);
    struct kiln_buffer content = content_of(path);
    struct kiln_hash128 hash = kiln_hash128(content.data, content.size);
    cr_assert_eq(content.size, 3368);
    cr_assert_eq(hash.high, 0xf08cf5a707fa8e15);
    cr_assert_eq(hash.low, 0x31a78300675de88b);
    kiln_buffer_fini(&content);
}

Test(pack_file, a_repeated_entry_is_told_and_kept_once)
{
    struct kiln_pack_writer *writer = NULL;
    cr_assert_eq(kiln_pack_writer_create(path, &writer, &error), KILN_OK);
    cr_assert(add(writer, 1));
    cr_assert(add(writer, 2));
    cr_assert_not(add(writer, 1));
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK);
    kiln_pack_writer_destroy(writer);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK);
    cr_assert_eq(kiln_pack_file_entry_count(pack), 2);
    kiln_pack_file_close(pack);
}

Test(pack_file, a_damaged_entry_is_not_added_and_the_rest_is)
{
    struct kiln_pack_writer *writer = NULL;
    struct kiln_buffer entry = entry_of(3);
    bool added = true;
    cr_assert_eq(kiln_pack_writer_create(path, &writer, &error), KILN_OK);
    entry.data[entry.size / 2] ^= 1;
    cr_assert_eq(kiln_pack_writer_add(writer, entry.data, entry.size, &added, &error),
                 KILN_CORRUPT);
    cr_assert(add(writer, 1));
    cr_assert_eq(kiln_pack_writer_finish(writer, &error), KILN_OK);
    kiln_pack_writer_destroy(writer);
    kiln_buffer_fini(&entry);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK);
    cr_assert_eq(kiln_pack_file_entry_count(pack), 1);
    kiln_pack_file_close(pack);
}

Test(pack_file, what_is_not_finished_leaves_nothing)
{
    write_pack(path, five, 5);
    struct kiln_buffer before = content_of(path);
    struct kiln_pack_writer *writer = NULL;
    cr_assert_eq(kiln_pack_writer_create(path, &writer, &error), KILN_OK);
    (void)add(writer, 9);
    kiln_pack_writer_destroy(writer);
    cr_assert_eq(directory_count(temporary_path("")), 1);
    struct kiln_buffer after = content_of(path);
    cr_assert_eq(after.size, before.size);
    cr_assert_eq(memcmp(after.data, before.data, before.size), 0);
    kiln_buffer_fini(&before);
    kiln_buffer_fini(&after);
}

/* The limit of the process, as a full disk would, in the middle of an entry, of the copy in order
 * and of the index. */
Test(pack_file, without_room_the_old_pack_stays)
{
    write_pack(path, five, 5);
    struct kiln_buffer before = content_of(path);
    static const unsigned numbers[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    unsigned failures = 0;
    for (rlim_t limit = 0;; limit += 40) {
        struct rlimit old;
        struct rlimit low;
        cr_assert_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
        low = old;
        low.rlim_cur = limit;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
        struct kiln_pack_writer *writer = NULL;
        kiln_error_init(&error);
        enum kiln_status status = kiln_pack_writer_create(path, &writer, &error);
        for (size_t i = 0; i < 9 && writer != NULL; i++) {
            struct kiln_buffer entry = entry_of(numbers[i]);
            bool added;
            /* Goes on after a failure: each call has to say no. */
            enum kiln_status result =
                kiln_pack_writer_add(writer, entry.data, entry.size, &added, &error);
            status = status != KILN_OK ? status : result;
            cr_assert(status == KILN_OK || result != KILN_OK);
            kiln_buffer_fini(&entry);
        }
        if (writer != NULL) {
            enum kiln_status result = kiln_pack_writer_finish(writer, &error);
            cr_assert(status == KILN_OK || result != KILN_OK);
            status = result;
        }
        kiln_pack_writer_destroy(writer);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
        cr_assert_eq(directory_count(temporary_path("")), 1);
        if (status == KILN_OK)
            break;
        failures++;
        cr_assert_eq(status, KILN_IO);
        struct kiln_buffer after = content_of(path);
        cr_assert_eq(after.size, before.size);
        cr_assert_eq(memcmp(after.data, before.data, before.size), 0);
        kiln_buffer_fini(&after);
    }
    cr_assert_gt(failures, 20);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK);
    cr_assert_eq(kiln_pack_file_entry_count(pack), 9);
    kiln_pack_file_close(pack);
    kiln_buffer_fini(&before);
}

/* With a damaged file: nothing wrong is found, and something is amiss: it does not open, or a
 * lookup that found its entry in the file as it was does not find it any more. */
static bool is_noticed(const char *file)
{
    struct kiln_pack_file *pack = NULL;
    kiln_error_init(&error);
    enum kiln_status status = kiln_pack_file_open(file, &pack, &error);
    if (status != KILN_OK)
        return pack == NULL && status == KILN_CORRUPT && strstr(error.text, file) != NULL;
    unsigned misses = 0;
    bool wrong = false;
    for (unsigned i = 1; i <= 5; i++) {
        enum finding finding = find(pack, i);
        misses += finding == MISS;
        wrong = wrong || finding == WRONG;
    }
    kiln_pack_file_close(pack);
    return misses == 1 && !wrong;
}

Test(pack_file, every_flipped_bit_and_every_truncation_is_noticed)
{
    write_pack(path, five, 5);
    struct kiln_buffer good = content_of(path);
    int descriptor = open(path, O_RDWR);
    unsigned cases = 0;
    unsigned faults = 0;
    for (size_t bit = 0; bit < 8 * good.size; bit++, cases++) {
        char flipped = (char)(good.data[bit / 8] ^ 1 << bit % 8);
        faults += pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)) != 1 || !is_noticed(path);
        faults += pwrite(descriptor, &good.data[bit / 8], 1, (off_t)(bit / 8)) != 1;
    }
    /* Longer is damaged as well. */
    for (size_t longer = 1; longer < 100; longer++, cases++)
        faults += ftruncate(descriptor, (off_t)(good.size + longer)) != 0 || !is_noticed(path);
    for (size_t size = good.size; size-- > 0; cases++)
        faults += ftruncate(descriptor, (off_t)size) != 0 || !is_noticed(path);
    cr_assert_gt(cases, 20000);
    cr_assert_eq(faults, 0, "%u of %u cases", faults, cases);
    cr_assert_eq(pwrite(descriptor, good.data, good.size, 0), (ssize_t)good.size);
    cr_assert_not(is_noticed(path), "the file as it was is whole");
    cr_assert_eq(close(descriptor), 0);
    kiln_buffer_fini(&good);
}

/* The same while the pack is open, which is what the index in memory has to survive; a mapped file
 * would end the process. */
Test(pack_file, every_change_under_an_open_pack_is_a_miss)
{
    write_pack(path, five, 5);
    struct kiln_buffer good = content_of(path);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_OK);
    int descriptor = open(path, O_RDWR);
    size_t index = good.size - 5 * KILN_PACK_ROW_BYTES;
    unsigned cases = 0;
    unsigned faults = 0;
    for (size_t bit = 8 * KILN_PACK_HEADER_BYTES; bit < 8 * index; bit++, cases++) {
        char flipped = (char)(good.data[bit / 8] ^ 1 << bit % 8);
        faults += pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)) != 1;
        unsigned hits = 0;
        for (unsigned i = 1; i <= 5; i++) {
            enum finding finding = find(pack, i);
            hits += finding == HIT;
            faults += finding == WRONG;
        }
        faults += hits != 4;
        faults += pwrite(descriptor, &good.data[bit / 8], 1, (off_t)(bit / 8)) != 1;
    }
    unsigned last_hits = 5;
    for (size_t size = index; size-- > 0; cases++) {
        faults += ftruncate(descriptor, (off_t)size) != 0;
        unsigned hits = 0;
        for (unsigned i = 1; i <= 5; i++) {
            enum finding finding = find(pack, i);
            hits += finding == HIT;
            faults += finding == WRONG;
        }
        faults += hits > last_hits;
        last_hits = hits;
    }
    cr_assert_eq(last_hits, 0);
    cr_assert_eq(faults, 0, "%u of %u cases", faults, cases);
    cr_assert_eq(close(descriptor), 0);
    kiln_pack_file_close(pack);
    kiln_buffer_fini(&good);
}

/* A pack whose checksum is right and whose index lies. */
static enum kiln_status open_forged(const struct kiln_pack_row *rows, size_t count,
                                    uint64_t entries_end, uint64_t index_offset)
{
    struct kiln_buffer good = content_of(path);
    struct kiln_buffer index;
    kiln_buffer_init(&index);
    kiln_pack_encode(rows, count, index_offset, &index);
    struct kiln_buffer forged;
    kiln_buffer_init(&forged);
    kiln_buffer_append(&forged, index.data, KILN_PACK_HEADER_BYTES);
    kiln_buffer_append(&forged, good.data + KILN_PACK_HEADER_BYTES,
                       (size_t)entries_end - KILN_PACK_HEADER_BYTES);
    kiln_buffer_append(&forged, index.data + KILN_PACK_HEADER_BYTES,
                       index.size - KILN_PACK_HEADER_BYTES);
    char file[4096];
    (void)snprintf(file, sizeof file, "%s", temporary_path("forged"));
    cr_assert_eq(kiln_file_write(file, forged.data, forged.size, 0, &error), KILN_OK);
    struct kiln_pack_file *pack = NULL;
    enum kiln_status status = kiln_pack_file_open(file, &pack, &error);
    kiln_pack_file_close(pack);
    kiln_buffer_fini(&good);
    kiln_buffer_fini(&index);
    kiln_buffer_fini(&forged);
    return status;
}

Test(pack_file, an_index_that_lies_is_refused)
{
    write_pack(path, five, 5);
    struct kiln_buffer good = content_of(path);
    unsigned char header[KILN_PACK_HEADER_BYTES];
    memcpy(header, good.data, sizeof header);
    struct kiln_pack_header facts;
    struct kiln_pack_row rows[5];
    struct kiln_pack_row wrong[5];
    cr_assert_eq(kiln_pack_header_decode(header, good.size, &facts, &error), KILN_OK);
    const unsigned char *index = (const unsigned char *)good.data + facts.index_offset;
    cr_assert_eq(kiln_pack_index_decode(header, &facts, index, rows, &error), KILN_OK);
    uint64_t end = facts.index_offset;
    cr_assert_eq(open_forged(rows, 5, end, end), KILN_OK, "as it was: %s", error.text);

#define WITH(change)                                                                               \
    memcpy(wrong, rows, sizeof rows);                                                              \
    change;                                                                                        \
    kiln_error_init(&error);                                                                       \
    cr_expect_eq(open_forged(wrong, 5, end, end), KILN_CORRUPT, "%s", #change)
    WITH(wrong[1].hash = wrong[0].hash);
    cr_expect(strstr(error.text, "not sorted at entry 1"), "%s", error.text);
    WITH(wrong[2].hash = rows[3].hash; wrong[3].hash = rows[2].hash);
    cr_expect(strstr(error.text, "not sorted"), "%s", error.text);
    WITH(wrong[1].offset = wrong[0].offset);
    cr_expect(strstr(error.text, "instead of"), "%s", error.text);
    WITH(wrong[1].offset += 8);
    WITH(wrong[1].offset = UINT64_MAX);
    WITH(wrong[4].size = 0);
    WITH(wrong[4].size = 47);
    WITH(wrong[4].size += 8);
    WITH(wrong[4].size = (uint64_t)KILN_ENTRY_LIMIT_BYTES + 1);
    cr_expect(strstr(error.text, "bytes for entry 4"), "%s", error.text);
    WITH(wrong[0].size = UINT64_MAX);
    WITH(wrong[0].offset = 0);
#undef WITH
    /* Bytes that belong to no entry. */
    cr_expect_eq(open_forged(rows, 4, end, end), KILN_CORRUPT);
    cr_expect(strstr(error.text, "its entries end at"), "%s", error.text);
    cr_expect_eq(open_forged(rows, 0, end, end), KILN_CORRUPT);
    cr_expect_eq(open_forged(rows, 5, end, end + 32), KILN_CORRUPT);
    cr_expect_eq(open_forged(rows, 5, end, UINT64_MAX), KILN_CORRUPT);
    /* The hash of another key: the entry is not what the index says. */
    memcpy(wrong, rows, sizeof rows);
    struct kiln_hash128 hash = wrong[0].hash;
    wrong[0].hash.low ^= 1;
    cr_assert_eq(open_forged(wrong, 5, end, end), KILN_OK, "%s", error.text);
    struct kiln_pack_file *pack = NULL;
    struct kiln_buffer entry;
    kiln_buffer_init(&entry);
    cr_assert_eq(kiln_pack_file_open(temporary_path("forged"), &pack, &error), KILN_OK);
    cr_assert_neq(kiln_pack_hash_compare(hash, kiln_pack_file_entry_hash(pack, 0)), 0);
    cr_assert_eq(kiln_pack_file_read_entry(pack, 0, &entry, &error), KILN_CORRUPT);
    kiln_pack_file_close(pack);
    kiln_buffer_fini(&good);
}

/* Counts that would need more memory than there is are refused before any is taken. */
Test(pack_file, a_sparse_giant_is_refused)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    uint64_t count = (uint64_t)1 << 34;
    kiln_pack_encode(NULL, 0, KILN_PACK_HEADER_BYTES, &bytes);
    memcpy(bytes.data + 16, &count, sizeof count);
    cr_assert_eq(kiln_file_write(path, bytes.data, bytes.size, 0, &error), KILN_OK);
    cr_assert_eq(truncate(path, (off_t)(KILN_PACK_HEADER_BYTES + count * KILN_PACK_ROW_BYTES)), 0);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_CORRUPT);
    cr_assert(strstr(error.text, "17179869184 entries"), "%s", error.text);
    kiln_buffer_fini(&bytes);
}

Test(pack_file, what_is_no_pack_is_named)
{
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_NOT_FOUND);
    cr_assert(strstr(error.text, path), "%s", error.text);
    cr_assert_eq(kiln_file_write(path, "", 0, 0, &error), KILN_OK);
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_CORRUPT);
    static const char text[] = "a text that is longer than the header of a pack has to be";
    cr_assert_eq(kiln_file_write(path, text, sizeof text, 0, &error), KILN_OK);
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_CORRUPT);
    cr_assert(strstr(error.text, "does not start as a pack does"), "%s", error.text);
    cr_assert_eq(kiln_pack_file_open(temporary_path(""), &pack, &error), KILN_IO);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_IO);
    cr_assert(strstr(error.text, "not an ordinary file"), "%s", error.text);
    cr_assert_null(pack);
}

/* Nobody else may be able to write a pack, and what we write is such, whatever the umask. */
Test(pack_file, modes)
{
    struct stat attributes;
    struct kiln_pack_file *pack = NULL;
    umask(0);
    write_pack(path, five, 5);
    cr_assert_eq(stat(path, &attributes), 0);
    cr_assert_eq(attributes.st_mode & 07777, 0644);
    for (mode_t mode = 0; mode < 0100; mode++) {
        cr_assert_eq(chmod(path, 0600 | mode), 0);
        enum kiln_status status = kiln_pack_file_open(path, &pack, &error);
        cr_assert_eq(status, (mode & 022) != 0 ? KILN_IO : KILN_OK, "mode %o: %s", mode,
                     error.text);
        if (status == KILN_OK)
            kiln_pack_file_close(pack);
    }
}

Test(pack_file, of_another_user)
{
    if (geteuid() != 0)
        skip_test("only root can give files away");
    write_pack(path, five, 5);
    struct kiln_pack_file *pack = NULL;
    cr_assert_eq(chown(path, 12345, 12345), 0);
    cr_assert_eq(kiln_pack_file_open(path, &pack, &error), KILN_IO);
    cr_assert(strstr(error.text, path), "%s", error.text);
}

/* As a layer of a store: damage is a miss with a warning, and the store goes on. */
Test(pack_file, a_layer)
{
    write_pack(path, five, 5);
    struct kiln_cache_store *store = store_fixture_open_layers(temporary_path("cache"), path);
    cr_assert(store_fixture_has(store, 1));
    cr_assert(store_fixture_has(store, 5));
    cr_assert_not(store_fixture_has(store, 6));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 0);
    struct kiln_buffer entry = entry_of(5);
    struct kiln_buffer good = content_of(path);
    const char *at = memmem(good.data, good.size, entry.data, entry.size);
    cr_assert_not_null(at);
    int descriptor = open(path, O_RDWR);
    cr_assert_eq(pwrite(descriptor, "x", 1, at - good.data + 40), 1);
    cr_assert_eq(close(descriptor), 0);
    cr_assert_not(store_fixture_has(store, 5));
    cr_assert(store_fixture_has(store, 1));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 1);
    kiln_cache_store_close(store);
    /* A pack that does not open is left out. */
    cr_assert_eq(truncate(path, 100), 0);
    store = store_fixture_open_layers(temporary_path("cache"), path);
    cr_assert_eq(kiln_cache_store_layer_count(store), 0);
    cr_assert_not(store_fixture_has(store, 1));
    cr_assert_eq(captured_log_count(KILN_LOG_WARN), 2);
    kiln_cache_store_close(store);
    kiln_buffer_fini(&entry);
    kiln_buffer_fini(&good);
}
