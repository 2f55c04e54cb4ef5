#include "compiler/codegen/comgr_library.h"

#include "compiler/codegen/compiler_search.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kiln_comgr_library library; /* filled once, under the lock */
static char *library_path;                /* NULL until the library is open */
static char *library_identity;            /* that it was last compared with */

static enum kiln_status resolve(void *handle, const char *path, struct kiln_comgr_library *comgr,
                                struct kiln_error *error)
{
    const char *missing = NULL;
    void *symbol;
    /* ISO C has no conversion from object to function pointers; POSIX has dlsym and memcpy. */
#define KILN_COMGR_FUNCTION(name, result, parameters)                                              \
    symbol = dlsym(handle, "amd_comgr_" #name);                                                    \
    if (symbol == NULL)                                                                            \
        missing = "amd_comgr_" #name;                                                              \
    memcpy(&comgr->name, &symbol, sizeof symbol);
    KILN_COMGR_FUNCTIONS(KILN_COMGR_FUNCTION)
#undef KILN_COMGR_FUNCTION
    if (missing != NULL)
        return kiln_error_set(error, KILN_UNSUPPORTED, "'%s' has no function '%s'", path, missing);

    comgr->get_version(&comgr->major, &comgr->minor);
    if (comgr->major == 2 && comgr->minor >= 4) {
        comgr->language_hip = KILN_COMGR2_LANGUAGE_HIP;
        comgr->action_codegen = KILN_COMGR2_ACTION_CODEGEN_BC_TO_RELOCATABLE;
        comgr->action_link = KILN_COMGR2_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE;
    } else if (comgr->major == 3) {
        comgr->language_hip = KILN_COMGR3_LANGUAGE_HIP;
        comgr->action_codegen = KILN_COMGR3_ACTION_CODEGEN_BC_TO_RELOCATABLE;
        comgr->action_link = KILN_COMGR3_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE;
    } else {
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "'%s' has API version %zu.%zu; Kiln knows 2.4 to 3.x", path,
                              comgr->major, comgr->minor);
    }
    return KILN_OK;
}

struct mapped_check {
    const char *identity;
    const char *comgr_path;
    bool has_build_id;  /* comgr has one */
    char stranger[256]; /* the first library that the identity does not name */
};

/* The file name that says which library this is: comgr itself, or an LLVM that it needs. */
static bool is_of_interest(const char *path, const struct mapped_check *check)
{
    if (strcmp(path, check->comgr_path) == 0)
        return true;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    /* In a process with other LLVMs only the one that the identity names matters. */
    return strncmp(name, "libLLVM", 7) == 0 && strstr(check->identity, name) != NULL;
}

static int check_mapped(struct dl_phdr_info *info, size_t size, void *context)
{
    struct mapped_check *check = context;
    (void)size;
    if (info->dlpi_name == NULL || !is_of_interest(info->dlpi_name, check))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;
        const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
        const char *end = at + segment->p_memsz;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const char *name = at + sizeof note;
            const unsigned char *id = (const unsigned char *)name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0 && note.n_descsz <= 32) {
                char hex[65] = "";
                if (strcmp(info->dlpi_name, check->comgr_path) == 0)
                    check->has_build_id = true;
                for (unsigned k = 0; k < note.n_descsz; k++)
                    (void)snprintf(hex + 2 * (size_t)k, 3, "%02x", id[k]);
                if (strstr(check->identity, hex) == NULL)
                    (void)snprintf(check->stranger, sizeof check->stranger, "%s", info->dlpi_name);
            }
            at = (const char *)id + (note.n_descsz + 3) / 4 * 4;
        }
    }
    return 0;
}

/* Fails unless the mapped library, which the path may no longer name, has this identity: code from
 * another comgr must not get its key. */
static enum kiln_status check_identity(const char *path, const char *identity,
                                       struct kiln_error *error)
{
    struct mapped_check check = {.identity = identity, .comgr_path = path};
    (void)dl_iterate_phdr(check_mapped, &check);
    if (check.stranger[0] == '\0' && !check.has_build_id)
        return kiln_binary_check_identity(path, identity, error);
    if (check.stranger[0] != '\0') {
        (void)kiln_error_set(error, KILN_COMPILE_FAILED,
                             "the library '%s' has changed since the compilers were looked for",
                             check.stranger);
        kiln_error_hint(error, "restart the program");
        return KILN_COMPILE_FAILED;
    }
    return KILN_OK;
}

static enum kiln_status remember_identity(const char *identity, struct kiln_error *error)
{
    char *copy = strdup(identity);
    if (copy == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening comgr");
    free(library_identity);
    library_identity = copy;
    return KILN_OK;
}

static enum kiln_status open_library(const char *path, const char *identity,
                                     struct kiln_error *error)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return kiln_compiler_refuse_library("comgr", dlerror(), error);

    enum kiln_status status = check_identity(path, identity, error);
    struct kiln_comgr_library comgr = {0};
    if (status == KILN_OK)
        status = resolve(handle, path, &comgr, error);
    if (status == KILN_OK)
        status = remember_identity(identity, error);
    if (status != KILN_OK)
        return status;
    char *copy = strdup(path);
    if (copy == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while opening comgr");
    library = comgr;
    library_path = copy;
    return KILN_OK;
}

enum kiln_status kiln_comgr_library_open(const char *path, const char *identity,
                                         const struct kiln_comgr_library **ret_library,
                                         struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    (void)pthread_mutex_lock(&lock);
    if (library_path == NULL)
        status = open_library(path, identity, error);
    else if (strcmp(library_path, path) != 0)
        status =
            kiln_error_set(error, KILN_UNSUPPORTED,
                           "comgr '%s' is open already: cannot open '%s' too", library_path, path);
    else if (strcmp(library_identity, identity) != 0) {
        /* Of an engine that was made after the file was replaced, in the process that compiles. */
        status = check_identity(path, identity, error);
        if (status == KILN_OK)
            status = remember_identity(identity, error);
    }
    (void)pthread_mutex_unlock(&lock);
    if (status == KILN_OK)
        *ret_library = &library;
    return status;
}
