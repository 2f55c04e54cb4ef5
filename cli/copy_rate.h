/*
 * The bandwidth of a device: the rate of a copy.
 */
#ifndef KILN_CLI_COPY_RATE_H
#define KILN_CLI_COPY_RATE_H

#include "runtime/engine/engine.h"

/* Bytes per second, read and written, of a copy that no cache holds: by Kiln's own kernel or the
 * device's copy function, whichever is faster. The engine makes the kernel for the device; where it
 * cannot, as without a compiler, the function is measured alone. */
enum kiln_status kiln_copy_rate(struct kiln_engine *engine, struct kiln_device *device,
                                double *ret_bytes_per_s, struct kiln_error *error) KILN_NODISCARD;

#endif
