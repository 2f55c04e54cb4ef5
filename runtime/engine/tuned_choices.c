#include "runtime/engine/tuned_choices.h"

#include "cache/cache_warning.h"
#include "runtime/engine/program_key.h"
#include "runtime/support/log.h"
#include "runtime/support/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_VERSION = 1, DRIVER_BYTES = 256 };

void kiln_tuned_choices_init(struct kiln_tuned_choices *choices)
{
    kiln_process_mutex_init(&choices->lock);
}

void kiln_tuned_choices_fini(struct kiln_tuned_choices *choices)
{
    kiln_process_mutex_fini(&choices->lock);
}

static void lock(struct kiln_tuned_choices *choices)
{
    if (!kiln_process_mutex_lock(&choices->lock))
        memset(choices->places, 0, sizeof choices->places);
}

/* The key of the entry: the mark, and then the program's in the form with constants. */
static enum kiln_status make_key(const struct kiln_tuned_subject *subject,
                                 struct kiln_cache_key *key, struct kiln_error *error)
{
    struct kiln_lower_options lower = *subject->lower;
    lower.shapes = KILN_SHAPES_CONSTANT;
    kiln_cache_key_add_text(key, KILN_TUNED_KEY_MARK);
    enum kiln_status status =
        kiln_program_key_append(subject->graph, &subject->device->target, &lower, key, error);
    return status == KILN_OK ? kiln_cache_key_finish(key, error) : status;
}

/* The device's name and driver: what a measurement depends on, and a target does not say. */
static void describe_driver(struct kiln_device *device, char ret_text[DRIVER_BYTES])
{
    struct kiln_device_description description = {0};
    if (device->ops->describe)
        device->ops->describe(device, &description);
    (void)snprintf(ret_text, DRIVER_BYTES, "%s, driver %s", description.name,
                   *description.driver_version ? description.driver_version : "-");
}

/* ---- memory ---- */

static bool recall(struct kiln_tuned_choices *choices, const struct kiln_tuned_subject *subject,
                   const struct kiln_cache_key *key, struct kiln_tuned_place *ret_place)
{
    lock(choices);
    *ret_place = choices->places[key->hash_low % KILN_TUNED_PLACES];
    kiln_process_mutex_unlock(&choices->lock);
    return ret_place->is_used && ret_place->name.low == key->hash_low &&
           ret_place->name.high == key->hash_high && ret_place->ordinal == subject->device->ordinal;
}

static void remember(struct kiln_tuned_choices *choices, const struct kiln_tuned_subject *subject,
                     const struct kiln_cache_key *key, const struct kiln_tuned_choice *choice)
{
    struct kiln_tuned_place place = {.name = {key->hash_high, key->hash_low},
                                     .ordinal = subject->device->ordinal,
                                     .is_used = true};
    if (choice) {
        place.has_choice = true;
        place.choice = *choice;
    }
    lock(choices);
    choices->places[key->hash_low % KILN_TUNED_PLACES] = place;
    kiln_process_mutex_unlock(&choices->lock);
}

/* ---- entries ---- */

static void write_payload(const struct kiln_tuned_choice *choice, const char *compiler,
                          const char *driver, struct kiln_buffer *payload)
{
    const struct kiln_contraction_options *contraction = &choice->contraction;
    kiln_buffer_append_u32(payload, FORMAT_VERSION);
    kiln_buffer_append_field(payload, compiler, strlen(compiler));
    kiln_buffer_append_field(payload, driver, strlen(driver));
    kiln_buffer_append_u32(payload, contraction->form);
    kiln_buffer_append_u32(payload, contraction->tile_m);
    kiln_buffer_append_u32(payload, contraction->tile_n);
    kiln_buffer_append_u32(payload, contraction->tile_k);
    kiln_buffer_append_u32(payload, contraction->waves_m);
    kiln_buffer_append_u32(payload, contraction->waves_n);
    kiln_buffer_append_u32(payload, contraction->waves_k);
    kiln_buffer_append_u32(payload, contraction->segments);
    kiln_buffer_append_u32(payload, choice->candidates);
    kiln_buffer_append_u64(payload, choice->untuned_ns);
    kiln_buffer_append_u64(payload, choice->tuned_ns);
}

struct text {
    const char *bytes;
    size_t size;
};

static struct text read_text(struct kiln_reader *reader)
{
    struct text text = {0};
    text.bytes = kiln_reader_field(reader, &text.size);
    return text;
}

static bool is_text(const struct text *text, const char *expected)
{
    return text->size == strlen(expected) && memcmp(text->bytes, expected, text->size) == 0;
}

static bool read_payload(const struct kiln_entry_view *view, struct kiln_tuned_choice *ret_choice,
                         struct text *ret_compiler, struct text *ret_driver)
{
    struct kiln_tuned_choice choice = {0};
    struct kiln_contraction_options *contraction = &choice.contraction;
    struct kiln_reader reader;
    kiln_reader_init(&reader, view->payload, view->payload_bytes);
    bool is_ours = kiln_reader_u32(&reader) == FORMAT_VERSION;
    *ret_compiler = read_text(&reader);
    *ret_driver = read_text(&reader);
    uint32_t form = kiln_reader_u32(&reader);
    contraction->form = (enum kiln_contraction_form)form;
    contraction->tile_m = kiln_reader_u32(&reader);
    contraction->tile_n = kiln_reader_u32(&reader);
    contraction->tile_k = kiln_reader_u32(&reader);
    contraction->waves_m = kiln_reader_u32(&reader);
    contraction->waves_n = kiln_reader_u32(&reader);
    contraction->waves_k = kiln_reader_u32(&reader);
    contraction->segments = kiln_reader_u32(&reader);
    choice.candidates = kiln_reader_u32(&reader);
    choice.untuned_ns = kiln_reader_u64(&reader);
    choice.tuned_ns = kiln_reader_u64(&reader);
    *ret_choice = choice;
    return is_ours && !reader.failed && reader.position == view->payload_bytes &&
           form <= KILN_CONTRACTION_SMALL;
}

/* NULL: nothing compiles here. */
static const char *find_compiler(const struct kiln_tuned_subject *subject)
{
    const char *compiler = NULL;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (subject->cache->is_precompiled ||
        kiln_codegen_identity(subject->cache->codegen, &subject->device->target, &compiler,
                              &ignored))
        return NULL;
    return compiler;
}

static bool load(const struct kiln_tuned_subject *subject, const struct kiln_cache_key *key,
                 struct kiln_tuned_choice *ret_choice)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_found found;
    struct kiln_error ignored;
    struct text compiler, driver;
    char driver_here[DRIVER_BYTES];
    kiln_error_init(&ignored);
    const char *compiler_here = find_compiler(subject);
    const struct kiln_cache_query query = {
        .key = key, .compiler = compiler_here, .reach = KILN_CACHE_ALL};
    if (kiln_program_cache_store(subject->cache, &store, &ignored) ||
        kiln_cache_store_find(store, &query, &found, &ignored))
        return false;
    const char *other = NULL;
    describe_driver(subject->device, driver_here);
    bool is_good = read_payload(&found.view, ret_choice, &compiler, &driver);
    if (!is_good)
        other = "format";
    else if (compiler_here && !is_text(&compiler, compiler_here))
        other = "compiler";
    else if (!is_text(&driver, driver_here))
        other = "device or driver";
    if (other)
        kiln_log(KILN_LOG_WARN,
                 "graph '%.64s': the tuned choice in '%s' is dropped, it has another %s; 'kiln "
                 "tune' makes a new one",
                 subject->graph->name, found.place, other);
    kiln_cache_found_fini(&found);
    return other == NULL;
}

bool kiln_tuned_choices_find(struct kiln_tuned_choices *choices,
                             const struct kiln_tuned_subject *subject,
                             struct kiln_tuned_choice *ret_choice)
{
    struct kiln_cache_key key;
    struct kiln_tuned_place place;
    struct kiln_tuned_choice loaded;
    struct kiln_error ignored;
    bool is_found = false;
    kiln_error_init(&ignored);
    kiln_cache_key_init(&key);
    if (make_key(subject, &key, &ignored) == KILN_OK) {
        if (recall(choices, subject, &key, &place)) {
            is_found = place.has_choice;
            loaded = place.choice;
        } else {
            is_found = load(subject, &key, &loaded);
            remember(choices, subject, &key, is_found ? &loaded : NULL);
        }
    }
    kiln_cache_key_fini(&key);
    if (is_found)
        *ret_choice = loaded;
    return is_found;
}

static enum kiln_status store_choice(const struct kiln_tuned_subject *subject,
                                     const struct kiln_cache_key *key,
                                     const struct kiln_tuned_choice *choice,
                                     struct kiln_error *error)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_buffer payload;
    char driver[DRIVER_BYTES];
    const char *compiler = find_compiler(subject);
    const struct kiln_cache_maker maker = {.compiler = compiler, .build = kiln_version.text};
    enum kiln_status status = kiln_program_cache_store(subject->cache, &store, error);
    if (status)
        return status;
    kiln_buffer_init(&payload);
    describe_driver(subject->device, driver);
    write_payload(choice, compiler ? compiler : "", driver, &payload);
    status = kiln_buffer_check(&payload, error);
    if (status == KILN_OK)
        status = kiln_cache_store_insert(store, key, &maker, payload.data, payload.size, error);
    kiln_buffer_fini(&payload);
    return status;
}

void kiln_tuned_choices_keep(struct kiln_tuned_choices *choices,
                             const struct kiln_tuned_subject *subject,
                             const struct kiln_tuned_choice *choice)
{
    struct kiln_cache_key key;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_cache_key_init(&key);
    enum kiln_status status = make_key(subject, &key, &error);
    if (status == KILN_OK) {
        remember(choices, subject, &key, choice);
        status = store_choice(subject, &key, choice, &error);
    }
    if (status)
        kiln_cache_warn_once("tuned", error.text, "a tuned choice is not cached: %s", error.text);
    kiln_cache_key_fini(&key);
}

void kiln_tuned_choices_forget(struct kiln_tuned_choices *choices,
                               const struct kiln_tuned_subject *subject)
{
    struct kiln_cache_key key;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    kiln_cache_key_init(&key);
    if (make_key(subject, &key, &ignored) == KILN_OK)
        remember(choices, subject, &key, NULL);
    kiln_cache_key_fini(&key);
}
