/*
 * Runs of k. If channels come first in memory, taps that are neighbours along a window are
 * neighbours in memory, with all their channels. So taps and channels are one axis, along which
 * elements are neighbours. A run of it seldom is whole packs long, as 7 taps of 3 channels are 21,
 * and a pack may be partly outside of the image. So the kernel counts k up to the end of each run's
 * last pack, loads packs at once wherever they begin, and drops what is outside of the image.
 * Beyond the run it drops the other operand's elements: the products are zero.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_RUNS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_RUNS_H

#include "compiler/families/contraction/schedule/contraction_axes.h"

/*
 * Where channels and taps of k can be one axis: `ret_joined` is what the CONTRACT iterates over
 * with that axis, which goes along the channels' axis of the image as if that were as long as a
 * line of pixels. So does the window. False where they cannot, or where packs of channels alone are
 * whole.
 */
bool kiln_join_channels(const struct kiln_contraction_problem *problem, uint32_t pack,
                        struct kiln_contraction *ret_joined);

/* True if the last axis of k is loaded in runs of packs; then its size is rounded up in the
 * kernel's axes. Only where memory has a whole pack. */
bool kiln_has_runs(const struct kiln_kernel_axes *kernel, uint32_t pack);

/* Where the last whole pack of an access begins that its memory has, in elements; negative where it
 * has none. */
int64_t kiln_last_pack(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                       uint32_t access, uint32_t pack);

#endif
