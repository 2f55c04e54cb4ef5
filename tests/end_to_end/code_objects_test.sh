#!/usr/bin/env bash
# The code objects of all graphs that are taken, for every target that something here compiles.
#
# usage: code_objects_test.sh KILN "TARGET[:I/N]..." CACHE_DIR SAMPLES FOLDER...
#
# Each graph of SAMPLES and the folders is compiled for each target, which checks every code object (machine, symbol, kernarg,
# LDS, no scratch). For a target with I/N these are the I-th of N parts of the graphs, unless there are only SAMPLES. Then the
# instructions of samples with contiguous float and half operands must be 128-bit global loads and stores.
set -euo pipefail

kiln=$1 cache=$3 samples=$4
read -ra wanted <<<"$2"
shift 4
contiguous=(residual_add_relu_fp32 bias_gelu_fp16 chain_of_24_fp32 swiglu_bf16 layernorm_training_fp16
    layernorm_backward_bf16 residual_rmsnorm_swish_bf16 batchnorm_training_nhwc_fp32 batchnorm_relu_nchw_fp16)

fail() {
    echo "FAILED: $*"
    exit 1
}

folders=()
for folder in "$@"; do
    [[ -d $folder ]] && folders+=("$folder") || echo "skipped: there is no folder ${folder##*/}"
done

# compile "TARGET,TARGET" OPTION_OR_FOLDER...
compile() {
    local list=$1 summary
    shift
    # Files that are no graphs give exit code 1 like failures: the summary tells them apart.
    summary=$("$kiln" compile --target "$list" --cache "$cache" -j 2 "$@" 2>&1 | grep ' kernels, ') || true
    echo "$list: $summary"
    [[ -n $summary && $summary != *failed* ]] || fail "not every graph compiled for $list"
}

targets=() whole=()
rm -rf "$cache"
for target in "${wanted[@]}"; do
    name=${target%%:*}
    if ! "$kiln" targets | grep -Eq "^$name .*(comgr|clang)( |$)"; then
        echo "skipped: nothing here compiles for $name"
        continue
    fi
    targets+=("$name")
    if [[ $target == "$name" ]] || ((${#folders[@]} == 0)); then
        whole+=("$name")
    else
        compile "$name" --shard "${target#*:}" "$samples" "${folders[@]}"
    fi
done
((${#targets[@]} > 0)) || fail "nothing here compiles for any of ${wanted[*]}"
if ((${#whole[@]} > 0)); then
    compile "$(IFS=,; echo "${whole[*]}")" "$samples" "${folders[@]}"
fi

for target in "${targets[@]}"; do
    for graph in "${contiguous[@]}"; do
        file=$(find "$samples" -name "$graph.json" | head -n 1)
        [[ -n $file ]] || fail "there is no sample '$graph'"
        isa=$("$kiln" explain --isa --target "$target" --cache "$cache" "$file")
        loads=$(grep -cE 'global_load_(dwordx4|b128)' <<<"$isa") || fail "$graph for $target: no 128-bit load"
        grep -qE 'global_store_(dwordx4|b128)' <<<"$isa" || fail "$graph for $target: no 128-bit store"
        ! grep -qE '\b(scratch_|buffer_store)' <<<"$isa" || fail "$graph for $target: uses scratch"
        echo "$graph for $target: $loads 128-bit loads, no scratch"
    done
done
