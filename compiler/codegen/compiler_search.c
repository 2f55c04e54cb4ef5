#include "compiler/codegen/compiler_search.h"

#include "compiler/codegen/elf_file.h"
#include "runtime/support/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEEDED_LIMIT = 64 };

/* A search stops at a shortage: it would miss what is there. */
static bool is_shortage(int number)
{
    return kiln_status_may_pass(kiln_status_of_errno(number));
}

/* On failure errno says why: ENOEXEC when the file is no ELF file. */
static bool open_binary(const char *path, int *ret_descriptor, struct kiln_elf *ret_elf)
{
    int descriptor;
    do {
        /* A named pipe must not keep us waiting for a writer. */
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return false;
    if (!kiln_elf_open_descriptor(descriptor, ret_elf)) {
        (void)close(descriptor);
        errno = ENOEXEC;
        return false;
    }
    *ret_descriptor = descriptor;
    return true;
}

/* The ELF header of the library or program that this code is in, as the linker defines it. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static char *resolve_library(const char *path)
{
    struct kiln_elf elf;
    int descriptor;
    if (!open_binary(path, &descriptor, &elf))
        return NULL;
    (void)close(descriptor);
    if (elf.type != ET_DYN || elf.machine != __ehdr_start.e_machine) {
        errno = ENOEXEC;
        return NULL;
    }
    return realpath(path, NULL);
}

static char *join_and_resolve(const char *directory, size_t length, const char *name)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%.*s/%s", (int)length, directory, name);
    if (length == 0 || length >= PATH_MAX || size < 0 || (size_t)size >= sizeof path) {
        errno = ENOENT;
        return NULL;
    }
    return resolve_library(path);
}

static char *find_in_directories(const char *directories, const char *name)
{
    char *found = NULL;
    errno = ENOENT;
    for (const char *at = directories; at != NULL && *at != '\0' && found == NULL;) {
        size_t length = strcspn(at, ":;");
        found = join_and_resolve(at, length, name);
        if (found == NULL && is_shortage(errno))
            return NULL;
        at += length + (at[length] != '\0');
    }
    return found;
}

/* The layout of glibc's cache of libraries, "glibc-ld.so.cache1.1" (sysdeps/generic/dl-cache.h,
 * struct cache_file_new): magic and version, number of entries, length of the strings, flags,
 * offset of extensions, 12 bytes; then entries of 24 bytes: flags, name, path (offsets from the
 * start of the file), OS version, hardware capabilities. */
static char *find_in_linker_cache(const char *name)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    struct kiln_buffer cache;
    struct kiln_error error;
    kiln_buffer_init(&cache);
    kiln_error_init(&error);
    char *found = NULL;
    errno = 0;
    if (kiln_file_read("/etc/ld.so.cache", 64U << 20, &cache, &error) == KILN_OK) {
        errno = ENOENT;
        struct kiln_reader reader;
        kiln_reader_init(&reader, cache.data, cache.size);
        const char *head = kiln_reader_bytes(&reader, sizeof magic - 1);
        bool is_known = head != NULL && memcmp(head, magic, sizeof magic - 1) == 0;
        uint32_t count = is_known ? kiln_reader_u32(&reader) : 0;
        (void)kiln_reader_bytes(&reader, 24);
        for (uint32_t i = 0; i < count && !reader.failed && found == NULL; i++) {
            (void)kiln_reader_u32(&reader);
            uint32_t key = kiln_reader_u32(&reader);
            uint32_t path = kiln_reader_u32(&reader);
            (void)kiln_reader_bytes(&reader, 12);
            /* The NUL behind the buffer ends the last text. */
            if (!reader.failed && key < cache.size && path < cache.size &&
                strcmp(cache.data + key, name) == 0)
                found = resolve_library(cache.data + path);
        }
    }
    int search_errno = errno;
    kiln_buffer_fini(&cache);
    errno = search_errno;
    return found;
}

char *kiln_library_find_in(const char *name, const char *directories)
{
    static const char usual[] = "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib:/opt/rocm/lib"
                                ":/opt/rocm/lib64"
#if defined(__x86_64__)
                                ":/usr/lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
                                ":/usr/lib/aarch64-linux-gnu"
#endif
        ;
    if (strchr(name, '/') != NULL)
        return resolve_library(name);
    char *found = find_in_directories(directories, name);
    if (found == NULL && !is_shortage(errno))
        found = find_in_directories(secure_getenv("LD_LIBRARY_PATH"), name);
    if (found == NULL && !is_shortage(errno))
        found = find_in_linker_cache(name);
    if (found == NULL && !is_shortage(errno))
        found = find_in_directories(usual, name);
    return found;
}

char *kiln_library_find(const char *name)
{
    return kiln_library_find_in(name, NULL);
}

static bool is_program(const char *path)
{
    struct stat attributes;
    return stat(path, &attributes) == 0 && S_ISREG(attributes.st_mode) && access(path, X_OK) == 0;
}

char *kiln_program_find(const char *name)
{
    if (strchr(name, '/') != NULL) {
        if (!is_program(name))
            return NULL;
        return *name == '/' ? strdup(name) : realpath(name, NULL);
    }
    const char *path = getenv("PATH");
    if (path == NULL)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = path; *at != '\0';) {
        size_t length = strcspn(at, ":");
        char candidate[PATH_MAX];
        int size = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, at, name);
        /* A relative directory would make the compiler depend on where the host happens to be. */
        if (*at == '/' && length < PATH_MAX && size > 0 && (size_t)size < sizeof candidate &&
            is_program(candidate))
            return strdup(candidate);
        at += length + (at[length] != '\0');
    }
    errno = ENOENT;
    return NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void append_file_identity(const char *path, int descriptor, const struct kiln_elf *elf,
                                 struct kiln_buffer *identity)
{
    unsigned char id[KILN_BUILD_ID_BYTES];
    size_t size;
    struct stat attributes;
    kiln_buffer_printf(identity, " %s", base_name(path));
    if (elf != NULL && kiln_elf_build_id(elf, id, &size)) {
        kiln_buffer_append_text(identity, "=");
        for (size_t i = 0; i < size; i++)
            kiln_buffer_printf(identity, "%02x", id[i]);
    } else if (fstat(descriptor, &attributes) == 0) {
        kiln_buffer_printf(identity, "=%" PRIu64 "@%" PRId64 ".%09ld", (uint64_t)attributes.st_size,
                           (int64_t)attributes.st_mtim.tv_sec, attributes.st_mtim.tv_nsec);
    }
}

static bool is_compiler_library(const char *name)
{
    return strncmp(name, "libLLVM", 7) == 0 || strncmp(name, "libclang", 8) == 0;
}

/* DT_RUNPATH or DT_RPATH with $ORIGIN put in; "" when there is none or it is too long. */
static void read_run_path(const struct kiln_elf *elf, const char *path, char *directories,
                          size_t capacity)
{
    static const char origin[] = "$ORIGIN";
    char text[1024];
    size_t used = 0;
    directories[0] = '\0';
    if (!kiln_elf_dynamic_text(elf, DT_RUNPATH, 0, text, sizeof text) &&
        !kiln_elf_dynamic_text(elf, DT_RPATH, 0, text, sizeof text))
        return;
    size_t directory_length = (size_t)(base_name(path) - path);
    for (const char *at = text; *at != '\0';) {
        bool is_origin = strncmp(at, origin, sizeof origin - 1) == 0;
        size_t count = is_origin ? directory_length : 1;
        if (used + count + 1 > capacity) {
            directories[0] = '\0';
            return;
        }
        memcpy(directories + used, is_origin ? path : at, count);
        used += count;
        at += is_origin ? sizeof origin - 1 : 1;
    }
    directories[used] = '\0';
}

bool kiln_binary_append_identity(const char *path, struct kiln_buffer *identity)
{
    char *resolved = realpath(path, NULL);
    int descriptor =
        resolved != NULL ? open(resolved, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (descriptor < 0) {
        int open_errno = errno;
        free(resolved);
        errno = open_errno;
        return false;
    }
    int shortage = 0;
    struct kiln_elf elf;
    bool is_elf = kiln_elf_open_descriptor(descriptor, &elf);
    append_file_identity(resolved, descriptor, is_elf ? &elf : NULL, identity);
    if (is_elf) {
        char name[256];
        char directories[4096];
        read_run_path(&elf, resolved, directories, sizeof directories);
        for (size_t i = 0;
             i < NEEDED_LIMIT && kiln_elf_dynamic_text(&elf, DT_NEEDED, i, name, sizeof name);
             i++) {
            char *needed =
                is_compiler_library(name) ? kiln_library_find_in(name, directories) : NULL;
            struct kiln_elf needed_elf;
            int needed_descriptor;
            if (needed != NULL && open_binary(needed, &needed_descriptor, &needed_elf)) {
                append_file_identity(name, needed_descriptor, &needed_elf, identity);
                (void)close(needed_descriptor);
            } else if (is_compiler_library(name) && is_shortage(errno)) {
                shortage = errno;
            }
            free(needed);
        }
    }
    (void)close(descriptor);
    free(resolved);
    errno = shortage;
    return shortage == 0;
}

enum kiln_status kiln_compiler_absent(struct kiln_error *error, const char *format, ...)
{
    int number = errno;
    if (is_shortage(number))
        return kiln_error_set(error, kiln_status_of_errno(number), "cannot look for a compiler: %s",
                              strerror(number));
    va_list arguments;
    va_start(arguments, format);
    (void)kiln_error_set_v(error, KILN_NOT_FOUND, format, arguments);
    va_end(arguments);
    return KILN_NOT_FOUND;
}

enum kiln_status kiln_binary_check_identity(const char *path, const char *identity,
                                            struct kiln_error *error)
{
    struct kiln_buffer now;
    kiln_buffer_init(&now);
    bool is_read = kiln_binary_append_identity(path, &now);
    int reading_errno = errno;
    enum kiln_status status = kiln_buffer_check(&now, error);
    bool is_same = is_read && status == KILN_OK && strstr(identity, now.data) != NULL;
    kiln_buffer_fini(&now);
    if (is_same || status != KILN_OK)
        return status;
    if (!is_read && is_shortage(reading_errno))
        return kiln_error_set(error, kiln_status_of_errno(reading_errno),
                              "cannot look at the compiler '%s': %s", path,
                              strerror(reading_errno));
    (void)kiln_error_set(error, KILN_COMPILE_FAILED,
                         "the compiler '%s' has changed since the compilers were looked for", path);
    kiln_error_hint(error, "restart the program");
    return KILN_COMPILE_FAILED;
}

enum kiln_status kiln_compiler_refuse_library(const char *name, const char *reason,
                                              struct kiln_error *error)
{
    /* glibc's words for a mapping that does not fit into the memory limit. */
    bool is_memory = strstr(reason, "Cannot allocate memory") != NULL ||
                     strstr(reason, "failed to map segment") != NULL;
    (void)kiln_error_set(error, is_memory ? KILN_NO_MEMORY : KILN_UNSUPPORTED, "cannot open %s: %s",
                         name, reason);
    if (is_memory)
        kiln_error_hint(error, "KILN_COMPILE_MEMORY is the memory of a compiler, in MiB");
    return error->status;
}

/* The number behind "libLLVM-", "libLLVM.so." or "libclang-cpp.so."; 0 for other names. */
static unsigned version_in_name(const char *name)
{
    static const char *const prefixes[] = {"libLLVM-", "libLLVM.so.", "libclang-cpp.so."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0)
            return (unsigned)strtoul(name + length, NULL, 10);
    }
    return 0;
}

unsigned kiln_binary_llvm_version(const char *path)
{
    char *resolved = realpath(path, NULL);
    unsigned version = 0;
    struct kiln_elf elf;
    int descriptor;
    if (resolved != NULL && open_binary(resolved, &descriptor, &elf)) {
        char name[256];
        for (size_t i = 0;
             i < NEEDED_LIMIT && kiln_elf_dynamic_text(&elf, DT_NEEDED, i, name, sizeof name);
             i++) {
            unsigned found = version_in_name(name);
            if (found != 0)
                version = found;
        }
        (void)close(descriptor);
    }
    const char *dash = resolved != NULL ? strrchr(base_name(resolved), '-') : NULL;
    if (version == 0 && dash != NULL)
        version = (unsigned)strtoul(dash + 1, NULL, 10);
    free(resolved);
    return version;
}
