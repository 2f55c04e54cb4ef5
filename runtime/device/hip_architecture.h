/*
 * Which processor a HIP device is.
 */
#ifndef KILN_RUNTIME_DEVICE_HIP_ARCHITECTURE_H
#define KILN_RUNTIME_DEVICE_HIP_ARCHITECTURE_H

#include "compiler/codegen/target.h"
#include "runtime/device/hip_library.h"

/*
 * The target of device `ordinal`, with its feature settings ("gfx90a:sramecc+:xnack-").
 *
 * HIP tells it in hipDeviceProp_t::gcnArchName, whose place in the struct differs between ROCm
 * releases, under two symbols (hipGetDevicePropertiesR0600 for the larger layout since ROCm 6). The
 * layout is not guessed: the struct is filled into a larger zeroed block, and the text is found in
 * it: behind `name`, which comes first in every layout and is 256 bytes long, a NUL-terminated text
 * that starts with "gfx" and is a row of targets.def. KILN_DEVICE when HIP fails, when there is no
 * such text, or when Kiln does not know the processor.
 */
enum kiln_status kiln_hip_architecture(const struct kiln_hip_library *library, int ordinal,
                                       struct kiln_target *ret_target,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
