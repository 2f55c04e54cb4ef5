/*
 * Executing a plan on a device whose memory is not this process's own.
 */
#ifndef KILN_TESTS_EXECUTE_ON_DEVICE_H
#define KILN_TESTS_EXECUTE_ON_DEVICE_H

#include "runtime/device/device.h"
#include "runtime/engine/engine.h"

/*
 * Copies `memory` (by tensor, NULL for those without; host scalars stay where they are) to the
 * device, fills the workspace with `poison`, executes the plan, waits, and copies the outputs back.
 * `graph` is the plan's with the override shapes, if there are any.
 */
enum kiln_status execute_on_device(struct kiln_device *device, const struct kiln_plan *plan,
                                   const struct kiln_graph *graph,
                                   const struct kiln_shape_overrides *overrides,
                                   void *const *memory, unsigned char poison,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
