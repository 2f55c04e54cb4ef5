/*
 * kiln doctor: a table of checks. Each looks at one part of an installation and adds findings. It
 * runs in a child process with a time limit: a library that crashes, hangs or
 * ends the process costs one finding, not the report.
 */
#ifndef KILN_CLI_DOCTOR_DOCTOR_H
#define KILN_CLI_DOCTOR_DOCTOR_H

#include "runtime/support/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_doctor_state {
    KILN_DOCTOR_OK,
    KILN_DOCTOR_WARNING, /* worth knowing; Kiln works, perhaps not on a GPU or not as fast */
    KILN_DOCTOR_WRONG,
    KILN_DOCTOR_SKIPPED, /* there is nothing to look at */
    KILN_DOCTOR_STATE_COUNT
};

/* Facts that earlier checks find out for later ones. */
#define KILN_DOCTOR_BACKEND           "backend"           /* path of hipDNN's library */
#define KILN_DOCTOR_BACKEND_DIRECTORY "backend_directory" /* its directory */
#define KILN_DOCTOR_PLUGIN            "plugin"            /* path of Kiln's plugin */
#define KILN_DOCTOR_SILENT            "silent"   /* group of the last check without an answer */
#define KILN_DOCTOR_DEVICE            "device"   /* kind of device to test on */
#define KILN_DOCTOR_TARGET            "target"   /* of that device */
#define KILN_DOCTOR_KERNELS           "kernels"  /* set if a cache has some for the target */
#define KILN_DOCTOR_WORKER            "worker"   /* set if compilers can be asked */
#define KILN_DOCTOR_COMPILER          "compiler" /* the one that serves the target */

struct kiln_doctor {
    const char *device; /* --device, or NULL */
    bool is_verbose;    /* children keep standard error */
    json_t *facts;      /* object of texts */
    json_t *findings;   /* array; of the check that is running */
};

struct kiln_doctor_check {
    const char *group;
    const char *name;
    uint32_t limit_ms;
    const char *remedy; /* when the check crashes or exceeds its limit */
    void (*run)(struct kiln_doctor *doctor);
};

extern const struct kiln_doctor_check kiln_doctor_checks[];
extern const size_t kiln_doctor_check_count;

void kiln_doctor_init(struct kiln_doctor *doctor);
void kiln_doctor_fini(struct kiln_doctor *doctor);

/* Adds a finding. `remedy` may be NULL and may have several lines. Text and remedy may hold text of
 * any origin. */
void kiln_doctor_add(struct kiln_doctor *doctor, enum kiln_doctor_state state, const char *name,
                     const char *remedy, const char *format, ...) KILN_PRINTF(5, 6);
/* The same from a sentence whose "hint: " lines become the remedy. Without
 * them it is `remedy`. */
void kiln_doctor_add_sentence(struct kiln_doctor *doctor, enum kiln_doctor_state state,
                              const char *name, const char *remedy, const char *sentence);

/* NULL when no check has found it out. */
const char *kiln_doctor_fact(const struct kiln_doctor *doctor, const char *name);
void kiln_doctor_set_fact(struct kiln_doctor *doctor, const char *name, const char *value);

/* Runs a check in a child process and returns its findings, an array that the caller drops: objects
 * with group, name, state, text and remedy. Keeps the facts that it found out. */
json_t *kiln_doctor_run(struct kiln_doctor *doctor, const struct kiln_doctor_check *check);

/* "ok", "warning", "wrong", "skipped". */
const char *kiln_doctor_state_name(enum kiln_doctor_state state);
enum kiln_doctor_state kiln_doctor_state_of(const json_t *finding);
/* Prints findings to stdout, at most 100 columns wide where words allow it. */
void kiln_doctor_print(const json_t *findings);

/* The path of hipDNN's library in `parent`/rocm-VERSION, newest version first, links resolved, to
 * be freed; NULL if none of them has one that loads. If `ret_reason` is empty, it gets why a
 * library that is there cannot be loaded. */
char *kiln_doctor_find_in_rocm_versions(const char *parent, char ret_reason[1024]);

/* The checks, by file. */
void kiln_doctor_check_settings(struct kiln_doctor *doctor);
void kiln_doctor_check_hipdnn(struct kiln_doctor *doctor);
void kiln_doctor_check_plugin_directory(struct kiln_doctor *doctor);
void kiln_doctor_check_plugin_abi(struct kiln_doctor *doctor);
void kiln_doctor_check_loading(struct kiln_doctor *doctor);
void kiln_doctor_check_device(struct kiln_doctor *doctor);
void kiln_doctor_check_cache_directory(struct kiln_doctor *doctor);
void kiln_doctor_check_cache_layers(struct kiln_doctor *doctor);
void kiln_doctor_check_shared_cache(struct kiln_doctor *doctor);
void kiln_doctor_check_worker(struct kiln_doctor *doctor);
void kiln_doctor_check_compilers(struct kiln_doctor *doctor);
void kiln_doctor_check_kernel(struct kiln_doctor *doctor);
void kiln_doctor_check_answer(struct kiln_doctor *doctor);

#endif
