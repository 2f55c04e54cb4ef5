#include "cli/bench/bench_subjects.h"

#include "cli/graph_files.h"
#include "cli/text.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/support/suggest.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SWEEP_START_ELEMENTS = 4096, SWEEP_FACTOR = 4 };

const char *kiln_bench_sweep_name(enum kiln_bench_sweep sweep)
{
    static const char *const names[KILN_BENCH_SWEEP_COUNT] = {"", "sizes", "shapes"};
    return names[sweep];
}

void kiln_bench_subjects_init(struct kiln_bench_subjects *subjects,
                              const struct kiln_bench_subjects *settings)
{
    *subjects = *settings;
    subjects->subjects = NULL;
    subjects->count = subjects->capacity = 0;
}

void kiln_bench_subjects_fini(struct kiln_bench_subjects *subjects)
{
    for (size_t i = 0; i < subjects->count; i++) {
        free(subjects->subjects[i].name);
        free(subjects->subjects[i].path);
        free(subjects->subjects[i].trouble);
    }
    free(subjects->subjects);
    *subjects = (struct kiln_bench_subjects){.count = 0};
}

static void append(struct kiln_bench_subjects *subjects, struct kiln_bench_subject subject)
{
    if (subjects->count == subjects->capacity) {
        size_t capacity = subjects->capacity ? 2 * subjects->capacity : 32;
        struct kiln_bench_subject *larger = kiln_cli_calloc(capacity, sizeof(*larger));
        if (subjects->count)
            memcpy(larger, subjects->subjects, subjects->count * sizeof(*larger));
        free(subjects->subjects);
        subjects->subjects = larger;
        subjects->capacity = capacity;
    }
    subjects->subjects[subjects->count++] = subject;
}

/* Two rows must not have one name: a file that has another's is called by its path. */
static void rename_to_path(struct kiln_bench_subject *subject)
{
    bool is_name_alone = strcmp(subject->name, subject->path) == 0;
    size_t size = strlen(subject->path) + sizeof "./";
    char *name = kiln_cli_calloc(size, 1);
    (void)snprintf(name, size, "%s%s", is_name_alone ? "./" : "", subject->path);
    free(subject->name);
    subject->name = name;
}

static void add_case_of_size(struct kiln_bench_subjects *subjects,
                             const struct kiln_bench_case *which, int64_t elements)
{
    for (size_t i = 0; i < subjects->count; i++)
        if (subjects->subjects[i].which == which && subjects->subjects[i].elements == elements)
            return;
    char name[KILN_BENCH_NAME_BYTES];
    kiln_bench_case_name(which, name);
    for (size_t i = 0; i < subjects->count; i++)
        if (subjects->subjects[i].path && strcmp(subjects->subjects[i].name, name) == 0)
            rename_to_path(&subjects->subjects[i]);
    append(subjects, (struct kiln_bench_subject){
                         .name = kiln_cli_strdup(name), .which = which, .elements = elements});
}

static void add_case(struct kiln_bench_subjects *subjects, const struct kiln_bench_case *which)
{
    int64_t most = which->layer ? subjects->model_elements : subjects->elements;
    if (subjects->sweep == KILN_BENCH_SWEEP_SIZES) {
        for (int64_t elements = SWEEP_START_ELEMENTS; elements < most; elements *= SWEEP_FACTOR)
            add_case_of_size(subjects, which, elements);
    }
    add_case_of_size(subjects, which, most);
}

/* Appends the shapes whose name, case and type or case is the operand, or matches it. */
static bool add_shapes(struct kiln_bench_subjects *subjects, const char *operand)
{
    bool found = false;
    unsigned count;
    struct kiln_bench_shape *shapes = kiln_bench_shapes_make(subjects->seed, &count);
    for (unsigned i = 0; i < count; i++) {
        const struct kiln_bench_case which = kiln_bench_shape_case(shapes[i].row);
        char name[KILN_BENCH_NAME_BYTES];
        char case_name[KILN_BENCH_NAME_BYTES];
        kiln_bench_shape_name(&shapes[i], name);
        kiln_bench_case_name(&which, case_name);
        if (fnmatch(operand, name, 0) != 0 && strcmp(operand, case_name) != 0 &&
            strcmp(operand, which.name) != 0)
            continue;
        found = true;
        bool is_new = true;
        for (size_t k = 0; k < subjects->count && is_new; k++)
            is_new = strcmp(subjects->subjects[k].name, name) != 0;
        if (is_new)
            append(subjects, (struct kiln_bench_subject){.name = kiln_cli_strdup(name),
                                                         .shape = shapes[i],
                                                         .elements = subjects->elements});
    }
    free(shapes);
    return found;
}

void kiln_bench_subjects_add_cases(struct kiln_bench_subjects *subjects, bool is_all)
{
    if (subjects->sweep == KILN_BENCH_SWEEP_SHAPES) {
        (void)add_shapes(subjects, "*");
        return;
    }
    for (unsigned i = 0; i < kiln_bench_case_count(); i++)
        if (is_all || kiln_bench_case_at(i)->is_default)
            add_case(subjects, kiln_bench_case_at(i));
}

/* True when the operand names a case or all types of one, or is a pattern of such names. */
static bool add_named_cases(struct kiln_bench_subjects *subjects, const char *operand)
{
    bool found = false;
    for (unsigned i = 0; i < kiln_bench_case_count(); i++) {
        const struct kiln_bench_case *which = kiln_bench_case_at(i);
        char name[KILN_BENCH_NAME_BYTES];
        kiln_bench_case_name(which, name);
        if (fnmatch(operand, name, 0) != 0 && strcmp(operand, which->name) != 0)
            continue;
        add_case(subjects, which);
        found = true;
    }
    return found;
}

/* The file's name without folders and ending. */
static char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *stem = kiln_cli_strdup(slash && slash[1] ? slash + 1 : path);
    char *dot = strrchr(stem, '.');
    if (dot && dot != stem && (strcmp(dot, ".json") == 0 || strcmp(dot, ".bin") == 0))
        *dot = '\0';
    return stem;
}

static void add_file(struct kiln_bench_subjects *subjects, const struct kiln_graph_file *file)
{
    for (size_t i = 0; i < subjects->count; i++)
        if (subjects->subjects[i].path && strcmp(subjects->subjects[i].path, file->path) == 0)
            return;
    struct kiln_bench_subject subject = {
        .name = stem_of(file->path),
        .path = kiln_cli_strdup(file->path),
        .is_found = file->is_found,
        .trouble = file->trouble ? kiln_cli_strdup(file->trouble) : NULL,
    };
    for (size_t i = 0; i < subjects->count; i++) {
        if (strcmp(subjects->subjects[i].name, subject.name) == 0) {
            rename_to_path(&subject);
            break;
        }
    }
    append(subjects, subject);
}

static void add_files(struct kiln_bench_subjects *subjects, const char *path)
{
    struct kiln_graph_files files;
    kiln_graph_files_init(&files);
    kiln_graph_files_add(&files, path);
    for (size_t i = 0; i < files.count; i++)
        add_file(subjects, &files.files[i]);
    kiln_graph_files_fini(&files);
}

/* The cases without their types are the shorter answer, where one of them is near. */
static void add_near_misses(const char *operand, struct kiln_error *error)
{
    unsigned total = kiln_bench_case_count();
    const char **words = kiln_cli_calloc(total, sizeof(*words));
    char(*names)[KILN_BENCH_NAME_BYTES] = kiln_cli_calloc(total, sizeof(*names));
    char hint[KILN_WORD_HINT_BYTES];
    size_t count = 0;
    for (unsigned i = 0; i < total; i++)
        if (count == 0 || strcmp(words[count - 1], kiln_bench_case_at(i)->name) != 0)
            words[count++] = kiln_bench_case_at(i)->name;
    bool is_near = kiln_word_hint(hint, operand, "", words, count);
    for (unsigned i = 0; i < total; i++) {
        kiln_bench_case_name(kiln_bench_case_at(i), names[i]);
        words[i] = names[i];
    }
    if (is_near || kiln_word_hint(hint, operand, "", words, total))
        kiln_error_hint(error, "%s", hint);
    else
        kiln_error_hint(error, "'kiln bench --list' lists the cases");
    free(words);
    free(names);
}

/* A name that has a slash or an ending is meant as a file. */
static enum kiln_status fail_unknown(const char *operand, struct kiln_error *error)
{
    if (strpbrk(operand, "/.") != NULL)
        return kiln_error_set(error, KILN_NOT_FOUND, "cannot open '%s': %s", operand,
                              strerror(ENOENT));
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT,
                         "'%s' is neither a case of the suite nor a graph file", operand);
    add_near_misses(operand, error);
    return error->status;
}

enum kiln_status kiln_bench_subjects_add(struct kiln_bench_subjects *subjects, const char *operand,
                                         struct kiln_error *error)
{
    if (subjects->sweep == KILN_BENCH_SWEEP_SHAPES) {
        if (add_shapes(subjects, operand))
            return KILN_OK;
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "'%s' is no graph of --sweep shapes",
                             operand);
        kiln_error_hint(error, "'kiln bench --list --sweep shapes' lists its graphs");
        return error->status;
    }
    if (add_named_cases(subjects, operand))
        return KILN_OK;
    if (strcmp(operand, "-") != 0 && access(operand, F_OK) != 0)
        return fail_unknown(operand, error);
    add_files(subjects, operand);
    return KILN_OK;
}

enum kiln_status kiln_bench_subject_read(const struct kiln_bench_subject *subject,
                                         struct kiln_graph_input *ret_input,
                                         struct kiln_error *error)
{
    if (subject->path && !subject->trouble)
        return kiln_graph_input_read(subject->path, ret_input, error);
    memset(ret_input, 0, sizeof(*ret_input));
    kiln_buffer_init(&ret_input->bytes);
    kiln_arena_init(&ret_input->arena);
    if (subject->trouble)
        return kiln_error_set(error, KILN_IO, "%s", subject->trouble);
    enum kiln_status status =
        subject->which ? kiln_bench_case_make(subject->which, subject->elements, &ret_input->arena,
                                              &ret_input->graph, error)
                       : kiln_bench_shape_make(&subject->shape, subject->elements,
                                               &ret_input->arena, &ret_input->graph, error);
    if (status == KILN_OK)
        status =
            kiln_graph_write(&ret_input->graph, KILN_WIRE_ERA_CURRENT, &ret_input->bytes, error);
    if (status)
        kiln_error_prefix(error, "graph '%s'", subject->name);
    return status;
}
