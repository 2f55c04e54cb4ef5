#!/usr/bin/env bash
# Kernels near the limit of registers: what is compiled has 128-bit accesses and no scratch, in whatever form of its schedule.
#
# usage: kernel_forms_test.sh KILN DIRECTORY [I/N]
#   I/N  only the I-th of N parts of the kernels
#
# Rows that are just short enough to be held in registers spill in their first form with some compilers. Many operands make
# LLVM spill scalar registers, for which it reserves private memory without touching it, or spill vector registers as well.
set -euo pipefail

kiln=$1 directory=$2 share=${3:-1/1}
rm -rf "$directory"
mkdir -p "$directory"
export KILN_CACHE_DIR=$directory/cache

fail() {
    echo "FAILED: $*"
    exit 1
}

# tensor UID COLUMNS TYPE [virtual]: 512 rows
tensor() {
    printf '{"uid": %d, "name": "t%d", "data_type": "%s", "dims": [512, %d], "strides": [%d, 1]%s},\n' \
        "$1" "$1" "$3" "$2" "$2" "${4:+, \"virtual\": true}"
}

pointwise() { # OPERATION OUTPUT INPUT...
    local inputs="\"in_0_tensor_uid\": $3"
    [[ $# -gt 3 ]] && inputs+=", \"in_1_tensor_uid\": $4"
    printf '{"name": "n%d", "compute_data_type": "FLOAT", "attributes_type": "PointwiseAttributes",' "$2"
    printf ' "attributes": {"operation": "%s", %s, "out_0_tensor_uid": %d}},\n' "$1" "$inputs" "$2"
}

reduction() { # MODE OUTPUT INPUT
    printf '{"name": "n%d", "compute_data_type": "FLOAT", "attributes_type": "ReductionAttributes",' "$2"
    printf ' "attributes": {"mode": "%s", "in_tensor_uid": %d, "out_tensor_uid": %d}},\n' "$1" "$3" "$2"
}

graph() { # NAME TENSORS NODES
    printf '{"name": "%s", "compute_data_type": "FLOAT", "intermediate_data_type": "FLOAT", "io_data_type": "FLOAT",\n' "$1"
    printf '"tensors": [%s],\n"nodes": [%s]}\n' "${2%,}" "${3%,}"
}

# softmax COLUMNS TYPE INPUTS: the softmax of the sum of so many inputs
softmax() {
    local columns=$1 type=$2 inputs=$3 tensors nodes='' i x=1
    tensors=$(tensor 1 "$columns" "$type")
    for ((i = 2; i <= inputs; i++)); do
        tensors+=$(tensor $i "$columns" "$type"; tensor $((1000 + i)) "$columns" FLOAT virtual)
        nodes+=$(pointwise ADD $((1000 + i)) $x $i)
        x=$((1000 + i))
    done
    tensors+=$(tensor 2001 1 FLOAT virtual; tensor 2002 "$columns" FLOAT virtual; tensor 2003 "$columns" FLOAT virtual)
    tensors+=$(tensor 2004 1 FLOAT virtual; tensor 2005 "$columns" "$type")
    nodes+=$(reduction MAX_OP 2001 $x; pointwise SUB 2002 $x 2001; pointwise EXP 2003 2002)
    nodes+=$(reduction ADD 2004 2003; pointwise DIV 2005 2003 2004)
    graph softmax "$tensors" "$nodes"
}

layernorm() { # COLUMNS
    local tensors
    tensors=$(tensor 1 "$1" FLOAT; tensor 5 "$1" FLOAT)
    tensors+=" {\"uid\": 2, \"name\": \"scale\", \"data_type\": \"FLOAT\", \"dims\": [$1], \"strides\": [1]},
        {\"uid\": 3, \"name\": \"bias\", \"data_type\": \"FLOAT\", \"dims\": [$1], \"strides\": [1]},
        {\"uid\": 4, \"name\": \"epsilon\", \"data_type\": \"FLOAT\", \"dims\": [1], \"strides\": [1],
         \"value_type\": \"Float32Value\", \"value\": {\"value\": 1e-5}}"
    graph layernorm "$tensors" '{"name": "n", "compute_data_type": "FLOAT", "attributes_type": "LayernormAttributes",
        "attributes": {"normalized_dim_count": 1, "forward_phase": "INFERENCE", "x_tensor_uid": 1, "scale_tensor_uid": 2,
                       "bias_tensor_uid": 3, "epsilon_tensor_uid": 4, "y_tensor_uid": 5}}'
}

number=0

# GRAPH WIDE TARGET...; WIDE: whether accesses are 128 bits
expect_no_scratch() {
    local name=$1 wide=$2 target isa form
    shift 2
    number=$((number + 1))
    ((number % ${share#*/} + 1 == ${share%/*})) || return 0
    for target in "$@"; do
        if ! "$kiln" targets | grep -Eq "^$target .*(comgr|clang)( |$)"; then
            echo "skipped: nothing here compiles for $target"
            continue
        fi
        isa=$("$kiln" explain --isa --target "$target" "$directory/$name.json") || fail "$name for $target"
        if $wide; then
            grep -qE 'global_load_(dwordx4|b128)' <<<"$isa" || fail "$name for $target: no 128-bit load"
            grep -qE 'global_store_(dwordx4|b128)' <<<"$isa" || fail "$name for $target: no 128-bit store"
        fi
        ! grep -qE '\b(scratch_|buffer_store)' <<<"$isa" || fail "$name for $target: uses scratch"
        form=$(grep -oE 'form [0-9]+ of this schedule' <<<"$isa" || true)
        echo "$name for $target: no scratch, ${form:-form 1 of this schedule}"
    done
}

for columns in 50000 60000 65024; do
    softmax $columns FLOAT 1 >"$directory/softmax_float_$columns.json"
    expect_no_scratch softmax_float_$columns true gfx942
done
softmax 56000 HALF 1 >"$directory/softmax_half_56000.json"
expect_no_scratch softmax_half_56000 true gfx942 gfx1100
softmax 90000 HALF 1 >"$directory/softmax_half_90000.json"
expect_no_scratch softmax_half_90000 true gfx90a gfx942 gfx1030 gfx1100 gfx1201
layernorm 36000 >"$directory/layernorm_float_36000.json"
expect_no_scratch layernorm_float_36000 true gfx90a gfx942 gfx1030
softmax 1024 FLOAT 50 >"$directory/softmax_of_50.json"
expect_no_scratch softmax_of_50 true gfx942 gfx1201
# Wide accesses of so many operands take more registers than there are.
softmax 1001 FLOAT 96 >"$directory/softmax_of_96.json"
expect_no_scratch softmax_of_96 false gfx90a
