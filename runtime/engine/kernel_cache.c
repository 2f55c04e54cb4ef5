#include "runtime/engine/kernel_cache.h"

#include "cache/cache_warning.h"
#include "cache/compile_claim.h"
#include "runtime/engine/kernel_format.h"
#include "runtime/engine/kernel_key.h"
#include "runtime/support/log.h"
#include "runtime/support/subprocess.h"

#include <stdlib.h>
#include <string.h>

static void ref_kernel(void *object)
{
    kiln_shared_kernel_ref(object);
}

static void unref_kernel(void *object)
{
    kiln_shared_kernel_unref(object);
}

static bool is_kernel_shared(void *object)
{
    struct kiln_shared_kernel *kernel = object;
    return atomic_load_explicit(&kernel->references, memory_order_relaxed) > 1;
}

enum kiln_status kiln_kernel_cache_init(struct kiln_kernel_cache *cache,
                                        struct kiln_codegen *codegen, struct kiln_error *error)
{
    static const struct kiln_object_type type = {ref_kernel, unref_kernel, is_kernel_shared};
    *cache = (struct kiln_kernel_cache){.codegen = codegen};
    return kiln_object_table_create(&type, &cache->kernels, error);
}

void kiln_kernel_cache_fini(struct kiln_kernel_cache *cache)
{
    kiln_object_table_destroy(cache->kernels);
}

/* Not on CUDA: everything measured there was measured with the spills that NVRTC leaves. */
bool kiln_kernel_spills(const struct kiln_target *target,
                        const struct kiln_kernel_resources *resources)
{
    return resources->scratch_bytes != 0 && target->kind != KILN_TARGET_CUDA;
}

/* The key in memory, which follows from a recipe as well as from the source. */
static enum kiln_status make_table_key(struct kiln_hash128 name, const char *symbol,
                                       const struct kiln_kernel_scope *scope,
                                       struct kiln_cache_key *key, struct kiln_error *error)
{
    kiln_cache_key_init(key);
    kiln_cache_key_add(key, &name.high, sizeof(name.high));
    kiln_cache_key_add(key, &name.low, sizeof(name.low));
    kiln_cache_key_add_text(key, symbol);
    kiln_cache_key_add_text(key, scope->target->name);
    return kiln_cache_key_finish(key, error);
}

static enum kiln_status copy_key(const void *bytes, size_t size, struct kiln_hash128 hash,
                                 struct kiln_cache_key *key, struct kiln_error *error)
{
    kiln_buffer_append(&key->bytes, bytes, size);
    key->hash_high = hash.high;
    key->hash_low = hash.low;
    return kiln_buffer_check(&key->bytes, error);
}

/* ---- stored ---- */

/* `key` names the kernel, or the note that it spills. The note has no code. */
static void write_entry(const struct kiln_kernel_scope *scope,
                        const struct kiln_shared_kernel *kernel, const struct kiln_cache_key *key)
{
    struct kiln_error error;
    struct kiln_buffer payload;
    if (!scope->store)
        return;
    kiln_error_init(&error);
    kiln_buffer_init(&payload);
    kiln_kernel_format_write(kernel, key == &kernel->key, &payload);
    enum kiln_status status = kiln_buffer_check(&payload, &error);
    if (status == KILN_OK)
        status = kiln_cache_store_insert(scope->store, key, &scope->maker, payload.data,
                                         payload.size, &error);
    if (status)
        kiln_cache_warn_once("insert", error.text, "a compiled kernel is not cached: %s",
                             error.text);
    kiln_buffer_fini(&payload);
}

/* A sound entry that is of no use is a miss. */
static enum kiln_status decline(enum kiln_status status, const char *reason,
                                struct kiln_error *error)
{
    if (status == KILN_NO_MEMORY)
        return status;
    kiln_log(KILN_LOG_WARN, "cache entry of a kernel is not used: %s", reason);
    return kiln_error_set(error, KILN_NOT_FOUND, "the cache has no usable kernel");
}

/* Without the source, the hash identifies the kernel, together with what else is known of its key.
 * The payload must be launched as its key says. It must have code, unless the key names a note. */
static enum kiln_status check_key(const struct kiln_entry_view *view,
                                  const struct kiln_kernel_scope *scope,
                                  const struct kiln_shared_kernel *kernel, struct kiln_error *error)
{
    struct kiln_kernel_key key;
    enum kiln_status status = kiln_kernel_key_read(view->key, view->key_bytes, &key, error);
    if (status)
        return status;
    struct kiln_buffer options;
    kiln_buffer_init(&options);
    kiln_codegen_append_options(scope->target, &options);
    bool is_expected = kiln_key_text_is(&key.target, scope->target->name) &&
                       kiln_key_text_is(&key.compile_options, kiln_buffer_text(&options));
    kiln_buffer_fini(&options);
    if (!is_expected)
        return kiln_error_set(error, KILN_CORRUPT, "its target or options are others");
    if (memcmp(kernel->block, key.block, sizeof(key.block)) != 0 ||
        kernel->lds_bytes != key.lds_bytes || kernel->uses_barrier != key.uses_barrier ||
        kernel->argument_count != key.argument_count)
        return kiln_error_set(error, KILN_CORRUPT, "it is not launched as its key says");
    if (kiln_shared_kernel_has_code(kernel) == key.is_note)
        return kiln_error_set(error, KILN_CORRUPT, "%s",
                              key.is_note ? "it is a note and has code" : "it has no code");
    if (key.is_note && !kiln_kernel_spills(scope->target, &kernel->object.resources))
        return kiln_error_set(error, KILN_CORRUPT, "it is a note and does not spill");
    return KILN_OK;
}

/* An entry's payload as the kernel of a key. `symbol`: NULL if any will do. */
static enum kiln_status read_payload(const struct kiln_kernel_scope *scope, const char *symbol,
                                     const struct kiln_entry_view *view, struct kiln_hash128 name,
                                     struct kiln_shared_kernel **ret_kernel,
                                     struct kiln_error *error)
{
    struct kiln_shared_kernel *kernel = NULL;
    enum kiln_status status =
        kiln_kernel_format_read(view->payload, view->payload_bytes, &kernel, error);
    if (status)
        return decline(status, error->text, error);
    status = check_key(view, scope, kernel, error);
    if (status)
        status = decline(status, error->text, error);
    else
        status = copy_key(view->key, view->key_bytes, name, &kernel->key, error);
    if (status == KILN_OK && symbol && strcmp(kernel->symbol, symbol) != 0)
        status = decline(KILN_CORRUPT, "its symbol is another's", error);
    if (status)
        kiln_shared_kernel_unref(kernel);
    else
        *ret_kernel = kernel;
    return status;
}

/* `key` may be a hash alone. */
static enum kiln_status read_stored(const struct kiln_kernel_scope *scope,
                                    enum kiln_cache_reach reach, const struct kiln_cache_key *key,
                                    const char *symbol, struct kiln_shared_kernel **ret_kernel,
                                    struct kiln_error *error)
{
    const struct kiln_cache_query query = {
        .key = key, .compiler = scope->maker.compiler, .reach = reach};
    struct kiln_cache_found found;
    if (!scope->store)
        return kiln_error_set(error, KILN_NOT_FOUND, "there is no cache");
    enum kiln_status status = kiln_cache_store_find(scope->store, &query, &found, error);
    if (status)
        return status;
    const struct kiln_hash128 name = {.high = key->hash_high, .low = key->hash_low};
    status = read_payload(scope, symbol, &found.view, name, ret_kernel, error);
    if (status == KILN_OK) {
        (*ret_kernel)->place = found.place;
        (*ret_kernel)->mark = kiln_entry_view_mark(&found.view);
    }
    kiln_cache_found_fini(&found);
    return status;
}

static enum kiln_cache_reach reach_of(const struct kiln_kernel_scope *scope)
{
    return scope->may_compile ? KILN_CACHE_SHIPPED : KILN_CACHE_ALL;
}

/* ---- of a recipe ---- */

struct find_request {
    const struct kiln_kernel_scope *scope;
    struct kiln_hash128 name;
    const char *symbol;
    bool was_read;
};

static enum kiln_status make_found(void *context, const struct kiln_cache_key *table_key,
                                   void **ret_object, struct kiln_error *error)
{
    struct find_request *request = context;
    const struct kiln_cache_key key = kiln_cache_key_of_hash(request->name);
    struct kiln_shared_kernel *kernel = NULL;
    (void)table_key;
    enum kiln_status status = read_stored(request->scope, reach_of(request->scope), &key,
                                          request->symbol, &kernel, error);
    if (status)
        return status;
    request->was_read = true;
    *ret_object = kernel;
    return KILN_OK;
}

enum kiln_status kiln_kernel_cache_find(struct kiln_kernel_cache *cache,
                                        const struct kiln_kernel_scope *scope,
                                        struct kiln_hash128 name, const char *symbol,
                                        struct kiln_shared_kernel **ret_kernel,
                                        struct kiln_error *error)
{
    struct find_request request = {.scope = scope, .name = name, .symbol = symbol};
    struct kiln_cache_key key;
    void *object = NULL;
    enum kiln_status status = make_table_key(name, symbol, scope, &key, error);
    if (status == KILN_OK)
        status = kiln_object_table_get(cache->kernels, &key, make_found, &request, &object, error);
    /* Again when memory has only the note that it spills. */
    while (status == KILN_OK && !kiln_shared_kernel_has_code(object)) {
        kiln_object_table_drop(cache->kernels, &key, object);
        kiln_shared_kernel_unref(object);
        status = kiln_object_table_get(cache->kernels, &key, make_found, &request, &object, error);
    }
    kiln_cache_key_fini(&key);
    if (status)
        return status;
    struct kiln_shared_kernel *kernel = object;
    /* Taking it from memory is a use of the file all the same. */
    if (!request.was_read && scope->store)
        (void)kiln_cache_store_note_use(scope->store, name, kernel->mark, false);
    *ret_kernel = kernel;
    return KILN_OK;
}

/* ---- of an entry that a caller has ---- */

static enum kiln_status give_kernel(void *context, const struct kiln_cache_key *table_key,
                                    void **ret_object, struct kiln_error *error)
{
    (void)table_key;
    (void)error;
    *ret_object = kiln_shared_kernel_ref(context);
    return KILN_OK;
}

/* Puts it into memory. A note that the kernel spills makes way. */
static enum kiln_status put_kernel(struct kiln_kernel_cache *cache,
                                   const struct kiln_kernel_scope *scope,
                                   struct kiln_shared_kernel *kernel, struct kiln_error *error)
{
    struct kiln_cache_key key;
    void *object = NULL;
    enum kiln_status status =
        make_table_key(kiln_shared_kernel_name(kernel), kernel->symbol, scope, &key, error);
    if (status == KILN_OK)
        status = kiln_object_table_get(cache->kernels, &key, give_kernel, kernel, &object, error);
    if (status == KILN_OK && !kiln_shared_kernel_has_code(object)) {
        kiln_object_table_drop(cache->kernels, &key, object);
        kiln_shared_kernel_unref(object);
        status = kiln_object_table_get(cache->kernels, &key, give_kernel, kernel, &object, error);
    }
    kiln_cache_key_fini(&key);
    if (status == KILN_OK)
        kiln_shared_kernel_unref(object);
    return status;
}

enum kiln_status kiln_kernel_cache_admit(struct kiln_kernel_cache *cache,
                                         const struct kiln_target *target, const void *entry,
                                         size_t size, struct kiln_shared_kernel **ret_kernel,
                                         struct kiln_error *error)
{
    const struct kiln_kernel_scope scope = {.target = target};
    struct kiln_shared_kernel *kernel = NULL;
    struct kiln_entry_view view;
    enum kiln_status status = kiln_entry_decode(entry, size, &view, error);
    if (status == KILN_CORRUPT)
        return error->status = KILN_BAD_ARGUMENT;
    if (status == KILN_OK)
        status = read_payload(&scope, NULL, &view, kiln_hash128(view.key, view.key_bytes), &kernel,
                              error);
    if (status == KILN_OK)
        status = put_kernel(cache, &scope, kernel, error);
    if (status == KILN_OK)
        *ret_kernel = kernel;
    else
        kiln_shared_kernel_unref(kernel);
    return status;
}

/* ---- of a source ---- */

struct get_request {
    struct kiln_kernel_cache *cache;
    const struct kiln_kernel_scope *scope;
    const struct kiln_kernel *source;
    const struct kiln_cache_key *key;
    const struct kiln_cache_key *note; /* the key of the note that it spills */
    bool needs_code;
    bool is_stored; /* what was compiled */
    enum kiln_program_origin origin;
};

static enum kiln_status describe(const struct get_request *request,
                                 struct kiln_shared_kernel *kernel, struct kiln_error *error)
{
    const struct kiln_kernel *source = request->source;
    const struct kiln_cache_key *key = request->key;
    kernel->symbol = strdup(source->symbol);
    if (!kernel->symbol)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a 'kernel'");
    memcpy(kernel->block, source->block, sizeof(kernel->block));
    kernel->lds_bytes = source->lds_bytes;
    kernel->uses_barrier = source->uses_barrier;
    kernel->argument_count = source->argument_count;
    kernel->was_compiled_here = true;
    kernel->mark = kiln_cache_compiler_mark(request->scope->maker.compiler);
    return copy_key(key->bytes.data, key->bytes.size,
                    (struct kiln_hash128){.high = key->hash_high, .low = key->hash_low},
                    &kernel->key, error);
}

static enum kiln_status compile(struct get_request *request, struct kiln_shared_kernel **ret_kernel,
                                struct kiln_error *error)
{
    struct kiln_shared_kernel *kernel = NULL;
    request->origin = KILN_ORIGIN_COMPILED;
    if (!request->scope->may_compile)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "nothing may compile kernel '%s' for target '%s'",
                              request->source->symbol, request->scope->target->name);
    enum kiln_status status = kiln_shared_kernel_create(&kernel, error);
    if (status)
        return status;
    status = describe(request, kernel, error);
    if (status == KILN_OK)
        status = kiln_codegen_compile(request->cache->codegen, request->scope->target,
                                      request->source, &kernel->object, error);
    if (status) {
        kiln_shared_kernel_unref(kernel);
        return status;
    }
    bool is_note = !request->needs_code &&
                   kiln_kernel_spills(request->scope->target, &kernel->object.resources);
    if (request->is_stored)
        write_entry(request->scope, kernel, is_note ? request->note : &kernel->key);
    *ret_kernel = kernel;
    return KILN_OK;
}

/* The kernel or, where its code is not needed, the note that it spills. */
static enum kiln_status read_kernel(const struct get_request *request, enum kiln_cache_reach reach,
                                    struct kiln_shared_kernel **ret_kernel,
                                    struct kiln_error *error)
{
    const struct kiln_cache_key *key = request->key;
    const char *symbol = request->source->symbol;
    enum kiln_status status = read_stored(request->scope, reach, key, symbol, ret_kernel, error);
    if (status != KILN_NOT_FOUND || request->needs_code)
        return status;
    kiln_error_init(error);
    struct kiln_shared_kernel *kernel = NULL;
    status = read_stored(request->scope, reach, request->note, symbol, &kernel, error);
    if (status)
        return status;
    kiln_cache_key_fini(&kernel->key);
    status = copy_key(key->bytes.data, key->bytes.size,
                      (struct kiln_hash128){.high = key->hash_high, .low = key->hash_low},
                      &kernel->key, error);
    if (status)
        kiln_shared_kernel_unref(kernel);
    else
        *ret_kernel = kernel;
    return status;
}

/* After a miss: waits for another process that compiles the same, else compiles and stores. */
static enum kiln_status compile_once(struct get_request *request,
                                     struct kiln_shared_kernel **ret_kernel,
                                     struct kiln_error *error)
{
    struct kiln_compile_claim claim;
    enum kiln_status status = KILN_NOT_FOUND;
    struct kiln_cache_store *store = request->scope->store;
    if (!store || !request->scope->may_compile)
        return compile(request, ret_kernel, error);
    kiln_compile_claim_open(&claim, store, request->key,
                            kiln_cache_compiler_mark(request->scope->maker.compiler));
    uint64_t deadline = kiln_monotonic_milliseconds() + KILN_CLAIM_WAIT_MILLISECONDS;
    enum kiln_claim claimed = kiln_compile_claim_take(&claim, deadline);
    /* As in program_cache.c: what its last owner may have put into the directory. */
    if (claimed != KILN_CLAIM_NONE)
        status = read_kernel(request,
                             claimed == KILN_CLAIM_TAKEN ? KILN_CACHE_OWN_DIRECTORY
                                                         : reach_of(request->scope),
                             ret_kernel, error);
    if (status == KILN_NOT_FOUND) {
        kiln_error_init(error);
        status = compile(request, ret_kernel, error);
    }
    kiln_compile_claim_close(&claim);
    return status;
}

static enum kiln_status make_kernel(void *context, const struct kiln_cache_key *table_key,
                                    void **ret_object, struct kiln_error *error)
{
    struct get_request *request = context;
    struct kiln_shared_kernel *kernel = NULL;
    (void)table_key;
    request->origin = KILN_ORIGIN_DISK;
    enum kiln_status status = read_kernel(request, reach_of(request->scope), &kernel, error);
    if (status == KILN_NOT_FOUND) {
        kiln_error_init(error);
        status = compile_once(request, &kernel, error);
    }
    if (status == KILN_OK)
        *ret_object = kernel;
    return status;
}

/* Whatever the caches hold. */
static enum kiln_status make_anew(void *context, const struct kiln_cache_key *table_key,
                                  void **ret_object, struct kiln_error *error)
{
    struct kiln_shared_kernel *kernel = NULL;
    (void)table_key;
    enum kiln_status status = compile(context, &kernel, error);
    if (status == KILN_OK)
        *ret_object = kernel;
    return status;
}

static bool is_of_key(const struct kiln_shared_kernel *kernel, const struct kiln_cache_key *key)
{
    return kernel->key.bytes.size == key->bytes.size &&
           memcmp(kernel->key.bytes.data, key->bytes.data, key->bytes.size) == 0;
}

/* From the table, else from the maker. */
static enum kiln_status take(struct get_request *request, const struct kiln_cache_key *table_key,
                             kiln_object_maker maker, struct kiln_shared_kernel **ret_kernel,
                             struct kiln_error *error)
{
    void *object = NULL;
    enum kiln_status status = KILN_OK;
    /* Again after a failure that is not our maker's: the thread that was waited for had a recipe
     * only, and found nothing, or it may not compile, and this one may. */
    bool is_final = false;
    while (!is_final) {
        kiln_error_init(error);
        request->origin = KILN_ORIGIN_MEMORY;
        status = kiln_object_table_get(request->cache->kernels, table_key, maker, request, &object,
                                       error);
        is_final = request->origin != KILN_ORIGIN_MEMORY ||
                   (status != KILN_NOT_FOUND &&
                    (status != KILN_UNSUPPORTED || !request->scope->may_compile));
    }
    if (status == KILN_OK)
        *ret_kernel = object;
    return status;
}

static enum kiln_status get(struct get_request *request, const struct kiln_cache_key *table_key,
                            struct kiln_shared_kernel **ret_kernel, struct kiln_error *error)
{
    struct kiln_shared_kernel *kernel = NULL;
    enum kiln_status status = take(request, table_key, make_kernel, &kernel, error);
    /* Again when a thread that can do without the code has made it in between. */
    while (status == KILN_OK && request->needs_code && is_of_key(kernel, request->key) &&
           !kiln_shared_kernel_has_code(kernel)) {
        kiln_object_table_drop(request->cache->kernels, table_key, kernel);
        kiln_shared_kernel_unref(kernel);
        status = take(request, table_key, make_anew, &kernel, error);
    }
    if (status)
        return status;
    if (!is_of_key(kernel, request->key)) { /* two keys, one hash: nothing is shared */
        kiln_shared_kernel_unref(kernel);
        request->is_stored = false;
        return compile(request, ret_kernel, error);
    }
    *ret_kernel = kernel;
    return KILN_OK;
}

struct kernel_keys {
    struct kiln_cache_key kernel;
    struct kiln_cache_key note;
    struct kiln_cache_key table;
};

static void fini_keys(struct kernel_keys *keys)
{
    kiln_cache_key_fini(&keys->kernel);
    kiln_cache_key_fini(&keys->note);
    kiln_cache_key_fini(&keys->table);
}

/* The caller finis them, also after a failure. */
static enum kiln_status make_keys(const struct kiln_kernel *source,
                                  const struct kiln_kernel_scope *scope, struct kernel_keys *keys,
                                  struct kiln_error *error)
{
    kiln_cache_key_init(&keys->note);
    kiln_cache_key_init(&keys->table);
    enum kiln_status status = kiln_kernel_key_make(source, scope->target, &keys->kernel, error);
    if (status == KILN_OK)
        status = kiln_kernel_key_make_note(&keys->kernel, &keys->note, error);
    if (status)
        return status;
    struct kiln_hash128 name = {.high = keys->kernel.hash_high, .low = keys->kernel.hash_low};
    return make_table_key(name, source->symbol, scope, &keys->table, error);
}

enum kiln_status kiln_kernel_cache_get(struct kiln_kernel_cache *cache,
                                       const struct kiln_kernel_scope *scope,
                                       const struct kiln_kernel *source, bool needs_code,
                                       struct kiln_shared_kernel **ret_kernel,
                                       enum kiln_program_origin *ret_origin,
                                       struct kiln_error *error)
{
    struct kernel_keys keys;
    struct get_request request = {.cache = cache,
                                  .scope = scope,
                                  .source = source,
                                  .key = &keys.kernel,
                                  .note = &keys.note,
                                  .needs_code = needs_code,
                                  .is_stored = true};
    enum kiln_status status = make_keys(source, scope, &keys, error);
    if (status == KILN_OK)
        status = get(&request, &keys.table, ret_kernel, error);
    if (status == KILN_OK)
        *ret_origin = request.origin;
    fini_keys(&keys);
    return status;
}

enum kiln_status kiln_kernel_cache_replace(struct kiln_kernel_cache *cache,
                                           const struct kiln_kernel_scope *scope,
                                           const struct kiln_kernel *source,
                                           const struct kiln_shared_kernel *refused,
                                           struct kiln_shared_kernel **ret_kernel,
                                           struct kiln_error *error)
{
    struct kernel_keys keys;
    struct kiln_shared_kernel *kernel = NULL;
    struct get_request request = {.cache = cache,
                                  .scope = scope,
                                  .source = source,
                                  .key = &keys.kernel,
                                  .note = &keys.note,
                                  .needs_code = true};
    enum kiln_status status = make_keys(source, scope, &keys, error);
    if (status == KILN_OK) {
        kiln_object_table_drop(cache->kernels, &keys.table, refused);
        status = take(&request, &keys.table, make_anew, &kernel, error);
    }
    /* Again when another thread has read in between what was refused. */
    while (status == KILN_OK && !kernel->was_compiled_here) {
        kiln_object_table_drop(cache->kernels, &keys.table, kernel);
        kiln_shared_kernel_unref(kernel);
        status = take(&request, &keys.table, make_anew, &kernel, error);
    }
    if (status == KILN_OK)
        *ret_kernel = kernel;
    fini_keys(&keys);
    return status;
}

void kiln_kernel_cache_keep(const struct kiln_kernel_scope *scope,
                            const struct kiln_shared_kernel *kernel)
{
    write_entry(scope, kernel, &kernel->key);
}

/* Kernels of layers are not copied into the directory. */
static bool is_of_layer(const struct kiln_cache_store *store, const char *place)
{
    for (size_t i = 0; place && i < kiln_cache_store_layer_count(store); i++) {
        if (strcmp(kiln_cache_store_layer(store, i).path, place) == 0)
            return true;
    }
    return false;
}

void kiln_kernel_cache_follow(const struct kiln_kernel_scope *scope,
                              const struct kiln_shared_kernel *kernel, bool may_store)
{
    struct kiln_cache_store *store = scope->store;
    if (!kiln_cache_store_directory(store) ||
        kiln_cache_store_note_use(store, kiln_shared_kernel_name(kernel), kernel->mark, true))
        return;
    /* The source of another compiler's kernel still has it. */
    if (may_store && !is_of_layer(store, kernel->place) &&
        kernel->mark == kiln_cache_compiler_mark(scope->maker.compiler))
        write_entry(scope, kernel, &kernel->key);
}
