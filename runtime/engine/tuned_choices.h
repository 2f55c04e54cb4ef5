/*
 * Choices of schedules that were measured on a device, by computation, shape, target and options.
 *
 * A choice is an entry of the caches, so that packs and other processes have it. It names the
 * compilers and the driver that it was measured with. With others here it is dropped, and the log
 * says so: another kernel may be the fastest then. Without any compiler here, the kernels come from
 * caches too, and the choice is used.
 */
#ifndef KILN_RUNTIME_ENGINE_TUNED_CHOICES_H
#define KILN_RUNTIME_ENGINE_TUNED_CHOICES_H

#include "compiler/graph/graph.h"
#include "compiler/lower_options.h"
#include "runtime/device/device.h"
#include "runtime/engine/program_cache.h"
#include "runtime/support/process_mutex.h"

#include <stdbool.h>

struct kiln_tuned_choice {
    struct kiln_contraction_options contraction; /* zeros: the plan without tuning won */
    uint32_t candidates;                         /* distinct plans that were measured */
    uint64_t untuned_ns;                         /* medians of an execution */
    uint64_t tuned_ns;
};

enum { KILN_TUNED_PLACES = 1024 };

/* Choices in memory, and shapes that no cache has one for; a newer one may overwrite an older. */
struct kiln_tuned_place {
    struct kiln_hash128 name; /* of the entry's key */
    int ordinal;              /* of the device: equal targets may be unequal devices */
    bool is_used;
    bool has_choice;
    struct kiln_tuned_choice choice;
};

/* Thread-safe. */
struct kiln_tuned_choices {
    struct kiln_process_mutex lock;
    struct kiln_tuned_place places[KILN_TUNED_PLACES];
};

/* The memory is zeroed already. */
void kiln_tuned_choices_init(struct kiln_tuned_choices *choices);
void kiln_tuned_choices_fini(struct kiln_tuned_choices *choices);

/* A graph on a device, with the options that it is tuned from. */
struct kiln_tuned_subject {
    struct kiln_program_cache *cache;
    const struct kiln_graph *graph;
    struct kiln_device *device;
    const struct kiln_lower_options *lower;
};

/* True if there is a choice, in memory or a cache. Trouble with a cache means that there is none.
 */
bool kiln_tuned_choices_find(struct kiln_tuned_choices *choices,
                             const struct kiln_tuned_subject *subject,
                             struct kiln_tuned_choice *ret_choice);
/* Keeps a choice in memory and in the cache. An entry that cannot be written is logged. */
void kiln_tuned_choices_keep(struct kiln_tuned_choices *choices,
                             const struct kiln_tuned_subject *subject,
                             const struct kiln_tuned_choice *choice);
/* The choice has no plan here: this process does without it. */
void kiln_tuned_choices_forget(struct kiln_tuned_choices *choices,
                               const struct kiln_tuned_subject *subject);

#endif
