#include "compiler/codegen/target.h"

#include "compiler/codegen/product.h"
#include "runtime/support/suggest.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

enum features {
    FEATURES_NONE,
    FEATURES_XNACK,
    FEATURES_SRAMECC_XNACK,
};

struct row {
    const char *processor;
    enum kiln_target_kind kind;
    uint32_t wave_size;
    uint32_t elf_machine;
    uint32_t lds_bytes;
    uint32_t vgprs;
    uint32_t compute_units;
    uint32_t bandwidth_gbs;
    uint32_t vector_gflops;
    uint32_t matrix_gflops;
    enum features features;
};

static const struct row rows[] = {
#define KILN_TARGET(name, kind, wave, elf_machine, lds_bytes, vgprs, compute_units, gbs,           \
                    vector_gflops, matrix_gflops, features)                                        \
    {                                                                                              \
        #name,                                                                                     \
        KILN_TARGET_##kind,                                                                        \
        wave,                                                                                      \
        elf_machine,                                                                               \
        lds_bytes,                                                                                 \
        vgprs,                                                                                     \
        compute_units,                                                                             \
        gbs,                                                                                       \
        vector_gflops,                                                                             \
        matrix_gflops,                                                                             \
        FEATURES_##features},
#include "compiler/codegen/targets.def"
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* The e_flags of code that runs with every setting of a feature. Its two-bit field has more values:
 * 0 where the processor lacks the feature, 2 and 3 for code that needs it off or on. */
enum {
    EF_XNACK_ANY = 1 << 8,
    EF_SRAMECC_ANY = 1 << 10,
};

size_t kiln_target_count(void)
{
    return ROW_COUNT;
}

/* The highest microarchitecture level of the x86-64 psABI that this machine has, else its machine
 * name. */
static void name_host_level(char *name, size_t capacity)
{
#if defined(__x86_64__)
    const char *level = "x86-64";
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4"))
        level = "x86-64-v4";
    else if (__builtin_cpu_supports("x86-64-v3"))
        level = "x86-64-v3";
    else if (__builtin_cpu_supports("x86-64-v2"))
        level = "x86-64-v2";
    (void)snprintf(name, capacity, "host:%s", level);
#else
    struct utsname machine;
    bool known = uname(&machine) == 0;
    (void)snprintf(name, capacity, "host:%.32s", known ? machine.machine : "unknown");
#endif
}

static void fill(const struct row *row, struct kiln_target *target)
{
    *target = (struct kiln_target){
        .kind = row->kind,
        .wave_size = row->wave_size,
        .elf_machine = row->elf_machine,
        .lds_bytes = row->lds_bytes,
        .vgprs = row->vgprs,
        .compute_units = row->compute_units,
        .bandwidth_gbs = row->bandwidth_gbs,
        .vector_gflops = row->vector_gflops,
        .matrix_gflops = row->matrix_gflops,
    };
    (void)snprintf(target->processor, sizeof target->processor, "%s", row->processor);
    if (row->kind == KILN_TARGET_HOST)
        name_host_level(target->name, sizeof target->name);
    else
        (void)snprintf(target->name, sizeof target->name, "%s", row->processor);
}

void kiln_target_at(size_t index, struct kiln_target *ret_target)
{
    assert(index < ROW_COUNT);
    fill(&rows[index], ret_target);
}

static const struct row *find_row(const char *text, size_t length)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strlen(rows[i].processor) == length &&
            strncasecmp(rows[i].processor, text, length) == 0)
            return &rows[i];
    }
    const char *processor = kiln_product_processor(text, length);
    return processor != NULL ? find_row(processor, strlen(processor)) : NULL;
}

static enum kiln_status reject_processor(const char *text, size_t length, struct kiln_error *error)
{
    const char *processors[ROW_COUNT];
    char word[64];
    char hint[KILN_WORD_HINT_BYTES];
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "unknown target '%.*s'",
                         length < sizeof word ? (int)length : (int)sizeof word, text);
    for (size_t i = 0; i < ROW_COUNT; i++)
        processors[i] = rows[i].processor;
    (void)snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 0, text);
    if (kiln_word_hint(hint, word, "", processors, ROW_COUNT))
        kiln_error_hint(error, "%s 'kiln targets' lists all", hint);
    else if (!kiln_product_hint(text, length, error))
        kiln_error_hint(error, "'kiln targets' lists them");
    return KILN_BAD_ARGUMENT;
}

struct seen_features {
    bool sramecc;
    bool xnack;
};

/* Checks one setting of a feature, as "xnack-"; `seen` has those before it. */
static enum kiln_status check_feature(const struct row *row, const char *feature, size_t length,
                                      struct seen_features *seen, struct kiln_error *error)
{
    static const char *const known[] = {
        [FEATURES_NONE] = "no features",
        [FEATURES_XNACK] = "xnack+ or xnack-",
        [FEATURES_SRAMECC_XNACK] = "sramecc+, sramecc-, xnack+ or xnack-",
    };
    bool *is_seen = NULL;
    if (row->features == FEATURES_SRAMECC_XNACK && length == sizeof "sramecc" &&
        memcmp(feature, "sramecc", length - 1) == 0)
        is_seen = &seen->sramecc;
    else if (row->features != FEATURES_NONE && length == sizeof "xnack" &&
             memcmp(feature, "xnack", length - 1) == 0)
        is_seen = &seen->xnack;
    char sign = length != 0 ? feature[length - 1] : '\0';
    int shown = length < 32 ? (int)length : 32;
    if (is_seen == NULL || (sign != '+' && sign != '-')) {
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "target '%s' has no feature '%.*s'",
                             row->processor, shown, feature);
        kiln_error_hint(error, "it takes %s", known[row->features]);
        return KILN_BAD_ARGUMENT;
    }
    if (*is_seen)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "feature '%.*s' of target '%s' is given twice", shown, feature,
                              row->processor);
    *is_seen = true;
    return KILN_OK;
}

static enum kiln_status parse_host_level(const char *level, size_t length,
                                         struct kiln_target *target, struct kiln_error *error)
{
    bool is_plain = length != 0 && length < sizeof target->name - sizeof "host:";
    for (size_t i = 0; i < length && is_plain; i++)
        is_plain = (level[i] >= 'a' && level[i] <= 'z') || (level[i] >= '0' && level[i] <= '9') ||
                   level[i] == '-' || level[i] == '_';
#if defined(__x86_64__)
    is_plain = is_plain && strncmp(level, "x86-64", 6) == 0 &&
               (level[6] == '\0' || (level[6] == '-' && level[7] == 'v' && level[8] >= '2' &&
                                     level[8] <= '4' && level[9] == '\0'));
#else
    is_plain = is_plain && strcmp(target->name + sizeof "host:" - 1, level) == 0;
#endif
    if (!is_plain) {
        (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "unknown level '%.*s' of target 'host'",
                             length < 32 ? (int)length : 32, level);
        kiln_error_hint(error, "this machine is '%s'", target->name);
        return KILN_BAD_ARGUMENT;
    }
    (void)snprintf(target->name, sizeof target->name, "host:%s", level);
    return KILN_OK;
}

enum kiln_status kiln_target_parse(const char *text, struct kiln_target *ret_target,
                                   struct kiln_error *error)
{
    size_t length = strcspn(text, ":");
    const struct row *row = find_row(text, length);
    if (row == NULL)
        return reject_processor(text, length, error);

    struct kiln_target target;
    fill(row, &target);
    const char *rest = text + length;
    if (row->kind == KILN_TARGET_HOST && *rest != '\0') {
        enum kiln_status status = parse_host_level(rest + 1, strlen(rest + 1), &target, error);
        if (status != KILN_OK)
            return status;
        *ret_target = target;
        return KILN_OK;
    }

    struct seen_features seen = {0};
    while (*rest != '\0') {
        const char *feature = rest + 1;
        length = strcspn(feature, ":");
        enum kiln_status status = check_feature(row, feature, length, &seen, error);
        if (status != KILN_OK)
            return status;
        rest = feature + length;
    }
    *ret_target = target;
    return KILN_OK;
}

const char *kiln_target_features(const struct kiln_target *target)
{
    static const char *const names[] = {
        [FEATURES_NONE] = "",
        [FEATURES_XNACK] = "xnack",
        [FEATURES_SRAMECC_XNACK] = "sramecc, xnack",
    };
    const struct row *row = find_row(target->processor, strlen(target->processor));
    return row != NULL ? names[row->features] : "";
}

uint32_t kiln_target_elf_flags(const struct kiln_target *target)
{
    const struct row *row = find_row(target->processor, strlen(target->processor));
    if (row == NULL || row->kind != KILN_TARGET_AMDGPU)
        return 0;
    uint32_t flags = row->elf_machine;
    if (row->features != FEATURES_NONE)
        flags |= EF_XNACK_ANY;
    if (row->features == FEATURES_SRAMECC_XNACK)
        flags |= EF_SRAMECC_ANY;
    return flags;
}
