/*
 * kiln cache why: is a graph's program in the cache, and if it is not, what is near to it.
 */
#include "cli/cache/cache_action.h"
#include "cli/cache/entry_description.h"
#include "cli/command_line.h"
#include "cli/graph_input.h"
#include "cli/message.h"
#include "cli/target_list.h"
#include "compiler/codegen/codegen.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/miss_reason.h"
#include "runtime/engine/program_key.h"
#include "runtime/engine/shapes_setting.h"
#include "runtime/support/environment.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_NEAR = 5 };

enum state {
    STATE_HIT,
    STATE_KERNELS_MISSING,
    STATE_OTHER_COMPILER,
    STATE_DAMAGED,
    STATE_MISS,
};

static const char *const state_names[] = {"hit", "kernels missing", "other compiler", "damaged",
                                          "miss"};

struct answer {
    const char *path;
    struct kiln_target target;
    struct kiln_hash128 graph;
    char hex[KILN_CACHE_HASH_HEX + 1];
    struct kiln_codegen *codegen;
    const char *compiler; /* NULL: none here */
    bool may_compile;     /* KILN_ENFORCE_PRECOMPILED is off, and a compiler serves the target */
    enum state state;
    struct kiln_cache_found found; /* with `has_found` */
    struct kiln_entry_description description;
    bool has_found;
    uint32_t missing;                 /* kernels */
    struct kiln_error damage;         /* why the entry is not sound; KILN_OK: it is */
    struct kiln_known_programs known; /* with STATE_DAMAGED and STATE_MISS */
    bool has_known;
    struct kiln_near_program near[MOST_NEAR];
    size_t near_count;
    struct kiln_buffer none; /* why there is none */
};

static void answer_fini(struct answer *answer)
{
    if (answer->has_found) {
        kiln_entry_description_fini(&answer->description);
        kiln_cache_found_fini(&answer->found);
    }
    for (size_t i = 0; i < answer->near_count; i++)
        kiln_near_program_fini(&answer->near[i]);
    if (answer->has_known)
        kiln_known_programs_fini(&answer->known);
    kiln_buffer_fini(&answer->none);
}

/* A damaged entry of the directory is removed when it is looked up: this asks before. */
static enum kiln_status check_damage(struct kiln_cache_store *store, struct answer *answer,
                                     struct kiln_error *error)
{
    struct kiln_error judgement;
    struct kiln_cache_item item;
    struct kiln_buffer entry;
    struct kiln_entry_view view;
    kiln_error_init(&judgement);
    kiln_buffer_init(&entry);
    enum kiln_status status =
        kiln_cache_store_read(store, answer->hex, &item, &entry, &view, &judgement);
    kiln_buffer_fini(&entry);
    if (status == KILN_CORRUPT)
        answer->damage = judgement;
    if (status == KILN_OK || status == KILN_CORRUPT || status == KILN_NOT_FOUND)
        return KILN_OK;
    *error = judgement;
    return status;
}

/* Looks it up as the engine does. */
static enum kiln_status find_entry(struct kiln_cache_store *store, const struct answer *answer,
                                   const struct kiln_cache_key *key,
                                   struct kiln_cache_found *ret_found, struct kiln_error *error)
{
    const struct kiln_cache_query query = {.key = key,
                                           .compiler = answer->compiler,
                                           .reach = answer->may_compile ? KILN_CACHE_SHIPPED
                                                                        : KILN_CACHE_ALL};
    return kiln_cache_store_find(store, &query, ret_found, error);
}

static enum kiln_status find_kernels(struct kiln_cache_store *store, struct answer *answer,
                                     struct kiln_error *error)
{
    struct kiln_shared_program *program = answer->description.program;
    for (uint32_t i = 0; i < program->program.kernel_count; i++) {
        const struct kiln_cache_key key = kiln_cache_key_of_hash(program->program.kernels[i].name);
        struct kiln_cache_found found;
        enum kiln_status status = find_entry(store, answer, &key, &found, error);
        bool is_found = status == KILN_OK && kiln_entry_attach_kernel(program, i, &found.view);
        if (status == KILN_OK)
            kiln_cache_found_fini(&found);
        else if (status != KILN_NOT_FOUND)
            return status;
        answer->missing += !is_found;
    }
    kiln_error_init(error);
    return KILN_OK;
}

/* The compilers here may not serve this target, which only they know. */
static bool may_compile(const struct answer *answer)
{
    char name[KILN_COMPILER_NAME_BYTES];
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    return answer->may_compile && kiln_codegen_compiler(answer->codegen, &answer->target, name,
                                                        &ignored) != KILN_UNSUPPORTED;
}

static enum kiln_status find(struct kiln_cache_store *store, struct answer *answer,
                             const struct kiln_cache_key *key, struct kiln_error *error)
{
    enum kiln_status status = find_entry(store, answer, key, &answer->found, error);
    answer->state = STATE_HIT;
    if (status == KILN_NOT_FOUND) {
        const struct kiln_cache_query query = {.key = key, .reach = KILN_CACHE_ALL};
        status = kiln_cache_store_find(store, &query, &answer->found, error);
        answer->may_compile = may_compile(answer);
        answer->state = answer->may_compile ? STATE_OTHER_COMPILER : STATE_HIT;
    }
    if (status)
        return status;
    answer->has_found = true;
    kiln_entry_describe(&answer->found.view, true, &answer->description);
    if (!answer->description.program) {
        answer->state = STATE_DAMAGED;
        answer->damage = answer->description.reason;
        return KILN_OK;
    }
    status = find_kernels(store, answer, error);
    if (answer->state == STATE_HIT && answer->missing)
        answer->state = STATE_KERNELS_MISSING;
    return status;
}

/* True if a cache has an entry of the key, even a damaged one. */
static bool has_entry(struct kiln_cache_store *store, const struct answer *answer,
                      const struct kiln_cache_key *key)
{
    const struct kiln_cache_query query = {.key = key, .reach = KILN_CACHE_ALL};
    struct kiln_cache_found found;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (answer->damage.status != KILN_OK)
        return true;
    if (kiln_cache_store_find(store, &query, &found, &ignored) != KILN_OK)
        return false;
    kiln_cache_found_fini(&found);
    return true;
}

/* The key of the program in this form. */
static enum kiln_status make_key(struct kiln_cache_store *store, const struct kiln_graph *graph,
                                 const struct kiln_lower_options *options, struct answer *answer,
                                 struct kiln_cache_key *key, struct kiln_error *error)
{
    kiln_cache_key_fini(key);
    kiln_cache_key_init(key);
    enum kiln_status status = kiln_program_key_append(graph, &answer->target, options, key, error);
    if (status == KILN_OK)
        status = kiln_cache_key_finish(key, error);
    if (status != KILN_OK)
        return status;
    kiln_cache_key_hex(key, answer->hex);
    return check_damage(store, answer, error);
}

/* The constant form, unless a cache has an entry of the other one only. The engine also asks if all
 * kernels are there, so it may prefer the argument form where both have entries. */
static enum kiln_status choose_key(struct kiln_cache_store *store, const struct kiln_graph *graph,
                                   const struct kiln_lower_options *options, struct answer *answer,
                                   struct kiln_cache_key *key, struct kiln_error *error)
{
    static const enum kiln_shapes forms[] = {KILN_SHAPES_CONSTANT, KILN_SHAPES_ARGUMENT,
                                             KILN_SHAPES_CONSTANT};
    if (options->shapes != KILN_SHAPES_AUTO)
        return make_key(store, graph, options, answer, key, error);
    enum kiln_status status = KILN_OK;
    bool is_chosen = false;
    for (size_t i = 0; status == KILN_OK && !is_chosen && i < sizeof forms / sizeof *forms; i++) {
        struct kiln_lower_options form = *options;
        form.shapes = forms[i];
        status = make_key(store, graph, &form, answer, key, error);
        is_chosen = status == KILN_OK && has_entry(store, answer, key);
    }
    return status;
}

static enum kiln_status look(struct kiln_cache_store *store, const struct kiln_graph *graph,
                             struct answer *answer, struct kiln_error *error)
{
    const struct kiln_lower_options options = {.shapes = kiln_shapes_setting()};
    struct kiln_cache_key key;
    kiln_cache_key_init(&key);
    enum kiln_status status = kiln_graph_hash(graph, &answer->graph, error);
    if (status == KILN_OK)
        status = choose_key(store, graph, &options, answer, &key, error);
    if (status == KILN_OK)
        status = find(store, answer, &key, error);
    kiln_cache_key_fini(&key);
    if (status != KILN_NOT_FOUND)
        return status;
    kiln_error_init(error);
    answer->state = answer->damage.status ? STATE_DAMAGED : STATE_MISS;
    const struct kiln_missing_program missing = {graph, &answer->target, &options};
    status = kiln_known_programs_read(store, &answer->known, error);
    answer->has_known = status == KILN_OK;
    if (status == KILN_OK)
        status = kiln_missing_program_find_near(&missing, &answer->known, MOST_NEAR, answer->near,
                                                &answer->near_count, error);
    /* An entry that KILN_CACHE_ACCEPT keeps from being used. */
    if (status == KILN_OK && answer->near_count && !answer->near[0].differing_fields)
        answer->state = STATE_OTHER_COMPILER;
    if (status == KILN_OK && answer->near_count == 0)
        status = kiln_missing_program_explain(&missing, &answer->known, &answer->none, error);
    return status;
}

/* ---- in words ---- */

static void print_line(const char *label, const char *text)
{
    printf("%-10s ", label);
    kiln_text_write(stdout, text, false);
    putchar('\n');
}

static void print_missing_kernels(const struct answer *answer)
{
    const struct kiln_compiled_program *program = &answer->description.program->program;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        char hex[KILN_CACHE_HASH_HEX + 1];
        kiln_entry_kernel_hex(&program->kernels[i], hex);
        if (!answer->description.program->kernels[i])
            printf("%-10s %s  %s\n", "missing", hex, program->kernels[i].symbol);
    }
}

static void print_state(const struct answer *answer)
{
    static const char *const sentences[] = {
        [STATE_HIT] = "the program and its kernels are there; nothing is compiled",
        [STATE_KERNELS_MISSING] = "the program is there, and kernels that it names are not",
        [STATE_OTHER_COMPILER] = "another compiler has made the program, which is not used here",
        [STATE_DAMAGED] = "the entry is damaged",
        [STATE_MISS] = "the program is in no cache",
    };
    print_line("answer", sentences[answer->state]);
    if (answer->damage.status)
        print_line("damage", answer->damage.text);
    if (answer->has_found) {
        print_line("where", answer->found.place);
        print_line("made by", *answer->description.build ? answer->description.build : "unknown");
    }
    if (answer->state == STATE_OTHER_COMPILER && answer->has_found)
        print_line("made with",
                   *answer->description.compiler ? answer->description.compiler : "unknown");
    if (answer->state == STATE_OTHER_COMPILER)
        print_line("compiler", answer->compiler ? answer->compiler : "none here for this target");
    if (answer->state == STATE_KERNELS_MISSING)
        print_missing_kernels(answer);
    if (answer->state != STATE_HIT)
        print_line("then", answer->may_compile
                               ? "kernels that no cache has are compiled"
                               : "nothing compiles for this target here; the graph is declined "
                                 "unless caches have all its kernels");
}

static void print_near(const struct answer *answer)
{
    for (size_t i = 0; i < answer->near_count; i++) {
        const struct kiln_near_program *near = &answer->near[i];
        putchar('\n');
        print_line("near", near->program->hex);
        print_line("where", near->program->place);
        print_line("made by", *near->program->build ? near->program->build : "unknown");
        print_line("it is", kiln_buffer_text(&near->difference));
    }
    if (!answer->has_known)
        return;
    if (answer->near_count == 0)
        print_line("near", kiln_buffer_text(&answer->none));
    if (answer->known.unreadable && answer->known.count)
        printf("%-10s %zu %s of builds of Kiln with other formats\n", "unread",
               answer->known.unreadable, KILN_NOUN(answer->known.unreadable, "program"));
    if (answer->known.is_cut)
        kiln_message_note("only %zu programs of the cache were compared", answer->known.count);
}

static void print_answer(const struct answer *answer)
{
    print_line("graph", answer->path);
    printf("%-10s %016" PRIx64 "%016" PRIx64 "\n", "hash", answer->graph.high, answer->graph.low);
    print_line("target", answer->target.name);
    print_line("key", answer->hex);
    print_state(answer);
    print_near(answer);
}

/* ---- as JSON ---- */

static json_t *text_or_null(const char *text)
{
    return text && *text ? kiln_json_text(text) : json_null();
}

static json_t *missing_json(const struct answer *answer)
{
    json_t *list = kiln_json_array();
    const struct kiln_shared_program *program =
        answer->has_found ? answer->description.program : NULL;
    for (uint32_t i = 0; program && i < program->program.kernel_count; i++) {
        char hex[KILN_CACHE_HASH_HEX + 1];
        if (program->kernels[i])
            continue;
        kiln_entry_kernel_hex(&program->program.kernels[i], hex);
        json_t *object = kiln_json_object();
        kiln_json_set(object, "key", json_string(hex));
        kiln_json_set(object, "symbol", kiln_json_text(program->program.kernels[i].symbol));
        kiln_json_append(list, object);
    }
    return list;
}

static json_t *near_json(const struct kiln_near_program *near)
{
    json_t *object = kiln_json_object();
    json_t *fields = kiln_json_array();
    for (unsigned field = 1; field < KILN_PROGRAM_FIELD_END; field <<= 1)
        if (near->differing_fields & field)
            kiln_json_append(fields, json_string(kiln_program_field_name(field)));
    kiln_json_set(object, "key", json_string(near->program->hex));
    kiln_json_set(object, "place", kiln_json_text(near->program->place));
    kiln_json_set(object, "target", kiln_json_text(near->program->key.target));
    kiln_json_set(object, "build", text_or_null(near->program->build));
    kiln_json_set(object, "compiler", text_or_null(near->program->compiler));
    kiln_json_set(object, "differing_fields", fields);
    kiln_json_set(object, "difference", kiln_json_text(kiln_buffer_text(&near->difference)));
    return object;
}

static void print_answer_json(const struct answer *answer)
{
    char hash[KILN_CACHE_HASH_HEX + 1];
    json_t *document = kiln_json_object();
    json_t *near = kiln_json_array();
    (void)snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, answer->graph.high,
                   answer->graph.low);
    for (size_t i = 0; i < answer->near_count; i++)
        kiln_json_append(near, near_json(&answer->near[i]));
    kiln_json_set(document, "graph", kiln_json_text(answer->path));
    kiln_json_set(document, "graph_hash", json_string(hash));
    kiln_json_set(document, "target", kiln_json_text(answer->target.name));
    kiln_json_set(document, "key", json_string(answer->hex));
    kiln_json_set(document, "compiler", text_or_null(answer->compiler));
    kiln_json_set(document, "answer", json_string(state_names[answer->state]));
    kiln_json_set(document, "damage", text_or_null(answer->damage.text));
    kiln_json_set(document, "place",
                  answer->has_found ? kiln_json_text(answer->found.place) : json_null());
    kiln_json_set(document, "made_by",
                  answer->has_found ? text_or_null(answer->description.build) : json_null());
    kiln_json_set(document, "made_with",
                  answer->has_found ? text_or_null(answer->description.compiler) : json_null());
    kiln_json_set(document, "missing_kernels", missing_json(answer));
    kiln_json_set(document, "near", near);
    kiln_json_set(document, "compared_programs",
                  json_integer(answer->has_known ? (json_int_t)answer->known.count : 0));
    kiln_json_set(document, "unreadable_programs",
                  json_integer(answer->has_known ? (json_int_t)answer->known.unreadable : 0));
    kiln_json_print(document);
}

static enum kiln_status choose_target(const struct kiln_cache_request *request,
                                      struct kiln_target *ret_target, struct kiln_error *error)
{
    if (request->target)
        return kiln_target_parse(request->target, ret_target, error);
    struct kiln_target_list list = {0};
    enum kiln_status status = kiln_target_list_here(&list, error);
    if (status == KILN_OK)
        *ret_target = list.targets[0];
    kiln_target_list_fini(&list);
    return status;
}

int kiln_cache_why(const struct kiln_cache_request *request, struct kiln_error *error)
{
    const struct kiln_codegen_options codegen_options = {0};
    struct kiln_graph_input input;
    struct answer answer = {.path = request->operands[0]};
    kiln_error_init(&answer.damage);
    kiln_buffer_init(&answer.none);
    enum kiln_status status = kiln_graph_input_read(answer.path, &input, error);
    if (status == KILN_OK)
        status = choose_target(request, &answer.target, error);
    if (status == KILN_OK)
        status = kiln_codegen_create(&codegen_options, &answer.codegen, error);
    if (status == KILN_OK)
        status = kiln_codegen_identity(answer.codegen, &answer.target, &answer.compiler, error);
    if (status == KILN_UNSUPPORTED) {
        kiln_error_init(error);
        status = KILN_OK;
    }
    answer.may_compile =
        answer.compiler && !kiln_environment_flag(KILN_ENVIRONMENT_KILN_ENFORCE_PRECOMPILED);
    if (status == KILN_OK)
        status = look(request->store, &input.graph, &answer, error);
    if (status == KILN_OK && request->json)
        print_answer_json(&answer);
    else if (status == KILN_OK)
        print_answer(&answer);
    answer_fini(&answer);
    kiln_codegen_unref(answer.codegen);
    kiln_graph_input_fini(&input);
    return kiln_message_exit_code(status);
}
