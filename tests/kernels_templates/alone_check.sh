#!/bin/sh
# alone_check.sh KIND COMPILER TEMPLATES TARGET WAVE
# Compiles each header of kernels_templates/device/ by itself, after the default prelude and the headers that it expects, without
# warnings. KIND: hip, by clang for an AMDGPU TARGET; cuda, by NVRTC (COMPILER: nvrtc_check); host, by the machine's compiler. Exit
# status 77: no such compiler here.
set -u
kind=$1 compiler=$2 templates=$3 target=$4 wave=$5
command -v "$compiler" >/dev/null 2>&1 || { echo "skipped: no $compiler here"; exit 77; }

source=$(mktemp) || exit 1
trap 'rm -f "$source"' EXIT

compile() {
    case $kind in
    hip) set -- -x hip --offload-arch="$target" --cuda-device-only -nogpuinc -nogpulib "$source" ;;
    host) set -- -x c++ "$source" ;;
    cuda) "$compiler" "$templates" "$source" alone; return ;;
    esac
    "$compiler" -std=c++17 -fsyntax-only -Wall -Wextra -Werror -I"$templates" "$@"
}

# Headers that use instructions of one kind of target; and on CUDA what every_function.hip has.
is_for_others() {
    case $kind:$1 in
    cuda:device/math/* | cuda:device/convert/*) return 0 ;;
    esac
    case $1 in
    device/amdgcn.h) [ "$kind" != hip ] ;;
    device/mma/mfma.h) ! echo "$target" | grep -q '^gfx9' ;;
    device/contraction/transposed.h | device/attention/transposed_values.h | device/mma/transposed_reads.h) [ "$target" != gfx950 ] ;;
    device/mma/wmma.h) ! echo "$target" | grep -q '^gfx1[12]' ;;
    device/mma/scalar.h) [ "$kind" != host ] ;;
    device/cuda.h | device/cluster.h | device/unaligned.h | device/mma/async_copy.h | device/mma/mma_sync.h | device/mma/wgmma.h) [ "$kind" != cuda ] ;;
    device/contraction/k_cluster.h | device/contraction/specialized.h) [ "$kind" != cuda ] ;;
    device/contraction/pingpong.h | device/contraction/buffer_load.h | device/contraction/inside_rows.h) [ "$kind" != hip ] ;;
    device/host.h | device/host_abi.h) [ "$kind" != host ] ;;
    *) false ;;
    esac
}

# Prints the headers that a header of device/contraction/ needs before itself: one header of each choice that it uses.
expected() {
    k="k_whole phases_none"
    ends="$k padding_none"
    case $1 in
    padding | sum_inside | operand_sums) echo "$k" ;;
    padding_of_items) echo "finish $k" ;;
    place) echo "tile" ;;
    stage_ahead | multiply | make) echo "fragments" ;;
    overlap) echo "fragments make" ;;
    core_*) echo "make_after" ;;
    specialized) echo "$k operand_sums_none" ;;
    groups) echo "$k operand_sums_none make_after core_in_steps staged group_rows" ;;
    group_rows | group_gather | group_scatter) echo "$k operand_sums_none make_after core_in_steps staged" ;;
    store_groups) echo "finish $ends operand_sums_none make_after core_in_steps staged group_rows" ;;
    staged) echo "make_after core_in_steps" ;;
    pingpong) echo "make_after" ;;
    strip) echo "$ends make_after core_in_steps staged" ;;
    store) echo "finish $ends make_after core_in_steps staged" ;;
    rows | column_statistics | tile_statistics) echo "row_passes $ends make_after core_in_steps staged" ;;
    esac
}

# Headers that come before operands, which expand their macros.
uses_hooks() {
    case $1 in
    */split_operand.h | */inside_*.h | */gathered_operand.h) true ;;
    *) false ;;
    esac
}

# Prints the same for a header of device/attention/.
expected_of_attention() {
    case $1 in
    products | second_products) echo "left_in_tile" ;;
    scores | softmax | run_weights | weights | fold) echo "visible_columns left_in_tile" ;;
    walk) echo "visible_columns left_in_tile softmax" ;;
    esac
}

source_of() {
    echo "#define KILN_WAVE_SIZE $wave"
    case $1 in
    */rows.h) echo '#define KILN_DEFAULT_HAS_ROWS' ;;
    */tile_statistics.h) echo '#define KILN_DEFAULT_HAS_TILES' ;;
    */k_cluster.h) echo '#define KILN_GROUPS_K 2' ;;
    */phases.h) echo '#define KILN_PHASES 1' ;;
    */gathered_operand.h) printf '#define KILN_DEFAULT_HAS_GROUPS\n#define KILN_LEFT_ACCESSES(use) use(left, 0, f16, GATHERED)\n' ;;
    */group*.h | */store_groups.h | */k_of_groups.h) echo '#define KILN_DEFAULT_HAS_GROUPS' ;;
    */inside_points.h | */inside_rows.h) echo '#define KILN_LEFT_ACCESSES(use) use(left, 0, f16, SPLIT)' ;;
    */inside_runs.h) echo '#define KILN_LEFT_ACCESSES(use) use(left, 0, f16, RUN)' ;;
    */inside_walk.h | */inside_table.h) echo '#define KILN_LEFT_ACCESSES(use) use(left, 0, f16, WALKED)' ;;
    */specialized.h | */wgmma.h) echo '#define KILN_DEFAULT_HAS_WGMMA' ;;
    */pingpong.h) echo '#define KILN_DEFAULT_IS_DEEP' ;;
    */fold.h) echo '#define KILN_FOLDED_AXES 1u' ;;
    device/tile.h) echo '#undef KILN_WAVE_SIZE' ;;
    esac
    case $1 in
    device/contraction/shared_weights.h)
        echo '#include "default/contraction_direct_prelude.h"' ;;
    device/contraction/strip_operand.h)
        echo '#include "default/contraction_strips_prelude.h"' ;;
    device/contraction/*)
        printf '#define KILN_HAS_OWN_CHOICES\n#include "default/contraction_prelude.h"\n'
        echo '#include "default/contraction_more_facts.h"'
        echo '#include "device/contraction/result.h"'
        uses_hooks "$1" || echo '#include "device/contraction/operands.h"'
        for header in $(expected "$(basename "$1" .h)"); do
            echo "#include \"device/contraction/$header.h\""
        done ;;
    device/attention/*)
        printf '#define KILN_HAS_OWN_CHOICES\n#include "default/attention_prelude.h"\n'
        for header in $(expected_of_attention "$(basename "$1" .h)"); do
            echo "#include \"device/attention/$header.h\""
        done ;;
    device/mma/*)
        printf '#define KILN_HAS_OWN_CHOICES\n#include "default/contraction_prelude.h"\n' ;;
    device/turns*.h)
        printf '#define KILN_HAS_OWN_CHOICES\n#define KILN_GRID 1u\n#include "default/contraction_prelude.h"\n' ;;
    device/tile.h)
        echo '#include "default/pointwise_tiled_prelude.h"' ;;
    device/unaligned.h | device/local_rows.h)
        printf '#define KILN_BLOCK 64\n#include "device/device.h"\n#include "device/memory.h"\n' ;;
    device/device.h | device/host_abi.h) ;;
    *)
        printf '#define KILN_BLOCK 64\n#include "device/device.h"\n' ;;
    esac
    echo "#include \"$1\""
    case $1 in
    */inside_points.h | */inside_rows.h | */inside_runs.h | */inside_walk.h | */inside_table.h | */gathered_operand.h)
        echo '#include "device/contraction/operands.h"' ;;
    esac
}

faults=0 checked=0
for path in $(cd "$templates" && find device -name '*.h' | sort); do
    is_for_others "$path" && continue
    checked=$((checked + 1))
    source_of "$path" >"$source"
    compile
    status=$?
    [ "$kind:$status" = cuda:77 ] && exit 77
    if [ "$status" != 0 ]; then
        echo "$path does not compile alone"
        faults=$((faults + 1))
    fi
done
echo "$kind: $checked headers, $faults faults"
[ "$faults" = 0 ]
