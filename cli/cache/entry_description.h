/*
 * What a cache entry is of, from its bytes alone.
 */
#ifndef KILN_CLI_CACHE_ENTRY_DESCRIPTION_H
#define KILN_CLI_CACHE_ENTRY_DESCRIPTION_H

#include "cache/cache_store.h"
#include "cache/entry_format.h"
#include "runtime/engine/kernel_key.h"
#include "runtime/engine/program_key.h"
#include "runtime/engine/shared_program.h"

enum kiln_entry_kind {
    KILN_ENTRY_UNKNOWN, /* of another version, or of another program */
    KILN_ENTRY_PROGRAM, /* the recipe of a graph */
    KILN_ENTRY_KERNEL,
    KILN_ENTRY_CHOICE, /* of tuning, for a graph */
};

struct kiln_entry_description {
    struct kiln_arena arena;
    enum kiln_entry_kind kind;
    struct kiln_program_key key;         /* of a program */
    struct kiln_kernel_key kernel_key;   /* of a kernel: points into the entry */
    struct kiln_shared_program *program; /* NULL when the payload is not of this version */
    struct kiln_shared_kernel *kernel;   /* the same */
    struct kiln_error reason;            /* why there is no key, or no program or kernel */
    const char *target;                  /* untrusted; NULL: not known */
    const char *compile_options;         /* the same */
    /* Of what made it; the same, and "" when the entry does not say. The compilers that may have
     * made it; the one that has for a kernel whose payload was read. */
    const char *compiler;
    const char *build;
};

/* Never fails: what cannot be read is left out. `with_payload`: else the payload is not read. The
 * entry must stay as long as the description. */
void kiln_entry_describe(const struct kiln_entry_view *view, bool with_payload,
                         struct kiln_entry_description *ret_description);
/* Gives a program the kernel of this entry, at the index. False if the entry belongs to another
 * kernel or has no code. */
bool kiln_entry_attach_kernel(struct kiln_shared_program *program, uint32_t index,
                              const struct kiln_entry_view *view);
/* Gives a described program the kernels that the store has, wherever they are. Returns how many it
 * has not. */
uint32_t kiln_entry_find_kernels(struct kiln_entry_description *description,
                                 struct kiln_cache_store *store);
void kiln_entry_description_fini(struct kiln_entry_description *description);

/* 32 digits: what the entry of the kernel is called. */
void kiln_entry_kernel_hex(const struct kiln_compiled_kernel *kernel,
                           char ret_hex[KILN_CACHE_HASH_HEX + 1]);

/* Of a program "ADD, GELU_FWD -> half [16,512,768]": the operations in the order of the canonical
 * form and the first output. Of a kernel its symbol. Empty without a key. */
void kiln_entry_summary(const struct kiln_entry_description *description,
                        struct kiln_buffer *buffer);

/* True if an entry for `target` is meant by the name that a user gave, which kiln_target_parse has
 * taken: "host" means every level. */
bool kiln_entry_is_for(const struct kiln_entry_description *description, const char *target);

#endif
