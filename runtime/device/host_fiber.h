/*
 * Fibers: functions that can be suspended in the middle, each on a stack of its own.
 *
 * ucontext starts a fiber; from then on setjmp and longjmp switch, which takes no system call.
 * Address and thread sanitizer are told of every switch. A set is used by one thread at a time;
 * between uses, when no fiber is suspended, by any.
 */
#ifndef KILN_RUNTIME_DEVICE_HOST_FIBER_H
#define KILN_RUNTIME_DEVICE_HOST_FIBER_H

#include "runtime/support/error.h"

#include <stdbool.h>
#include <stdint.h>

struct kiln_fiber_set;

/* What a fiber runs: `context` is resume's, `index` the fiber's place in its set. */
typedef void kiln_fiber_body(void *context, uint32_t index);

enum kiln_status kiln_fiber_set_create(uint32_t count, struct kiln_fiber_set **ret_set,
                                       struct kiln_error *error) KILN_NODISCARD;
/* No fiber may be suspended. */
void kiln_fiber_set_destroy(struct kiln_fiber_set *set);

/*
 * Continues a suspended fiber, or calls body(context, index) on one that is not running. Returns
 * when the fiber suspends itself (false) or the body has returned (true).
 */
bool kiln_fiber_resume(struct kiln_fiber_set *set, uint32_t index, kiln_fiber_body *body,
                       void *context);
/* Only from within fiber `index`: makes the resume that runs it return. */
void kiln_fiber_suspend(struct kiln_fiber_set *set, uint32_t index);

#endif
