#include "runtime/support/temporary_name.h"

#include "runtime/support/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SMALL_FILE_BYTES = 512, /* more than /proc/PID/stat has before the start time */
    /* Fields of /proc/PID/stat, counted from 1. */
    STATE_FIELD = 3,
    THREADS_FIELD = 20,
    START_FIELD = 22,
    SHORTEST_MIDDLE = 16,
};

static const char prefix[] = ".kiln-";
static const char suffix[] = ".tmp";

/* The first bytes of a file of /proc with a NUL behind them; 0 when it cannot be read. */
static size_t read_small_file(const char *path, char ret_text[SMALL_FILE_BYTES])
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    ssize_t count = read(descriptor, ret_text, SMALL_FILE_BYTES - 1);
    (void)close(descriptor);
    size_t size = count > 0 ? (size_t)count : 0;
    ret_text[size] = '\0';
    return size;
}

static uint64_t machine_identity(void)
{
    struct {
        char boot[SMALL_FILE_BYTES];
        uint64_t name_spaces[4];
    } identity;
    memset(&identity, 0, sizeof identity);
    struct stat processes;
    struct stat times;
    if (read_small_file("/proc/sys/kernel/random/boot_id", identity.boot) == 0 ||
        stat("/proc/self/ns/pid", &processes) != 0)
        return 0;
    identity.name_spaces[0] = processes.st_dev;
    identity.name_spaces[1] = processes.st_ino;
    if (stat("/proc/self/ns/time", &times) == 0) { /* not before Linux 5.6 */
        identity.name_spaces[2] = times.st_dev;
        identity.name_spaces[3] = times.st_ino;
    }
    return kiln_hash64(&identity, sizeof identity);
}

struct process_state {
    uint64_t start; /* when it started, in ticks since the boot; 0: it cannot be found out */
    bool has_ended; /* and nobody has asked for its exit status yet */
};

static const char *next_field(const char *field)
{
    const char *space = field != NULL ? strchr(field, ' ') : NULL;
    return space != NULL ? space + 1 : NULL;
}

/* `path` is of the process's stat file. */
static struct process_state read_state(const char *path, int64_t process)
{
    struct process_state state = {0};
    char text[SMALL_FILE_BYTES];
    if (read_small_file(path, text) == 0 || strtoll(text, NULL, 10) != process)
        return state;
    /* The second field is the program's name in parentheses and may hold any character. */
    const char *field = next_field(strrchr(text, ')'));
    char letter = field != NULL ? *field : '\0';
    uint64_t threads = 0;
    for (unsigned i = STATE_FIELD; i < START_FIELD && field != NULL; i++) {
        if (i == THREADS_FIELD)
            threads = strtoull(field, NULL, 10);
        field = next_field(field);
    }
    if (field != NULL)
        state.start = strtoull(field, NULL, 10);
    /* A main thread that has ended is a zombie too while the others go on. */
    state.has_ended = letter == 'X' || (letter == 'Z' && threads <= 1);
    return state;
}

/*
 * 64 bits that no other writer in the directory has, whatever machine it runs on. Before the kernel
 * has entropy the clock has to do; O_EXCL makes a repetition harmless.
 */
static uint64_t draw_unique(unsigned attempt)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == (ssize_t)sizeof bits)
        return bits;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec << 20 ^ (uint64_t)getpid() << 4 ^
           attempt;
}

/* Nothing is remembered from call to call: a fork or a change of name spaces would make it a lie,
 * and writing the file costs more. */
void kiln_writer_text_make(char ret_text[KILN_WRITER_TEXT_BYTES], unsigned attempt)
{
    int64_t process = getpid();
    (void)snprintf(ret_text, KILN_WRITER_TEXT_BYTES,
                   "%016" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%016" PRIx64, machine_identity(),
                   (uint64_t)process, read_state("/proc/self/stat", process).start,
                   draw_unique(attempt));
}

void kiln_temporary_name_make(char ret_name[KILN_TEMPORARY_NAME_BYTES], unsigned attempt)
{
    char writer[KILN_WRITER_TEXT_BYTES];
    kiln_writer_text_make(writer, attempt);
    (void)snprintf(ret_name, KILN_TEMPORARY_NAME_BYTES, "%s%s%s", prefix, writer, suffix);
}

bool kiln_temporary_name_matches(const char *name)
{
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    size_t middle = strspn(name + sizeof prefix - 1, "0123456789abcdef-");
    return middle >= SHORTEST_MIDDLE && strcmp(name + sizeof prefix - 1 + middle, suffix) == 0;
}

/* A hex number and the dash behind it. */
static bool parse_part(const char **text, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    *ret_number = strtoull(*text, &end, 16);
    if (errno != 0 || end == *text || **text == '-' || *end != '-')
        return false;
    *text = end + 1;
    return true;
}

bool kiln_temporary_name_is_orphan(const char *name)
{
    return kiln_temporary_name_matches(name) &&
           kiln_writer_text_is_of_the_dead(name + sizeof prefix - 1);
}

bool kiln_writer_text_is_of_the_dead(const char *text)
{
    uint64_t machine;
    uint64_t process;
    uint64_t start;
    if (!parse_part(&text, &machine) || !parse_part(&text, &process) || !parse_part(&text, &start))
        return false;
    if (machine == 0 || start == 0 || process == 0 || process > INT32_MAX ||
        machine != machine_identity())
        return false;
    if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
        return true;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", process);
    struct process_state now = read_state(path, (int64_t)process);
    return now.start != 0 && (now.start != start || now.has_ended);
}
