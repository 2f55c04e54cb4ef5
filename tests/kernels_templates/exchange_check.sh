#!/bin/sh
# exchange_check.sh CLANG TEMPLATES TARGET
# Exchanges between lanes whose results packed instructions read stay instructions of their own: LLVM 22 loses the other lane's
# value otherwise (kiln_keep_exchange of device/amdgcn.h). Exit status 77: no such compiler here.
set -eu
clang=$1 templates=$2 target=$3
command -v "$clang" >/dev/null 2>&1 || { echo "skipped: no $clang here"; exit 77; }
exchanges=$(printf '%s\n' '#define KILN_WAVE_SIZE 64' '#include "device/device.h"' '#include "device/moments.h"' \
    'struct arguments { float *a; };' \
    'KILN_KERNEL(merge, 64, arguments)' '{' \
    '    float *at = arguments.a + kiln_work_item(), mean = at[0], squares = at[64];' \
    '    for (unsigned mask = 1; mask < 4; mask *= 2)' \
    '        kiln_moments_twin_f32(0.5f * mask, kiln_shuffle_xor_f32(mean, mask), kiln_shuffle_xor_f32(squares, mask), mean,' \
    '                              squares);' \
    '    at[0] = mean; at[64] = squares;' '}' |
    "$clang" -x hip --offload-arch="$target" --cuda-device-only -nogpuinc -nogpulib -O2 -std=c++17 -I"$templates" -S - -o - |
    grep -c 'v_mov_b32_dpp') || true
[ "$exchanges" = 4 ] || { echo "$target: $exchanges exchanges instead of 4"; exit 1; }
echo "$target: $exchanges exchanges"
