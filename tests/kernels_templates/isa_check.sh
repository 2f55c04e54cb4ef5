#!/bin/sh
# isa_check.sh CLANG TEMPLATES TARGET WAVE SOURCE FOLDER [WIDE]
# Compiles a HIP source without any HIP header for an AMDGPU target and checks the assembly: every kernel has no call, no scratch
# memory and no flat access; denormals are on. With WIDE, also that the kernels copy_f16_16 and copy_u8_16, whose pointers
# are aligned to one element only, use 128-bit accesses. WAVE may be empty where
# the source knows it. Exit status 77: no such compiler here.
set -eu
clang=$1 templates=$2 target=$3 wave=$4 source=$5 folder=$6 wide=${7-}
command -v "$clang" >/dev/null 2>&1 || { echo "skipped: no $clang here"; exit 77; }
mkdir -p "$folder"
assembly=$folder/$(basename "$source" .hip).$target.s
"$clang" -x hip --offload-arch="$target" --cuda-device-only -nogpuinc -nogpulib -O3 -std=c++17 \
    -Wall -Wextra -Werror ${wave:+-DKILN_WAVE_SIZE="$wave"} -I"$templates" -S "$source" -o "$assembly"

fail() { echo "$target: $1 in $assembly"; exit 1; }
kernels=$(grep -c '^[[:space:]]*\.amdhsa_kernel ' "$assembly")
[ "$kernels" -gt 0 ] || fail "no kernel"
[ "$(grep -c '^; ScratchSize: 0$' "$assembly")" = "$kernels" ] || fail "scratch memory"
[ "$(grep -c 'amdhsa_float_denorm_mode_32 3' "$assembly")" = "$kernels" ] || fail "flushed denormals"
if grep -qE 's_swappc|s_setpc' "$assembly"; then fail "a call"; fi
if grep -qE 'flat_(load|store)' "$assembly"; then fail "a flat access"; fi
if [ -n "$wide" ]; then
    for kernel in copy_f16_16 copy_u8_16; do
        for access in load store; do
            sed -n "/^$kernel:/,/s_endpgm/p" "$assembly" |
                grep -qE "global_${access}_(dwordx4|b128)" || fail "no 128-bit $access of $kernel"
        done
    done
fi
echo "$target: $kernels kernels"
