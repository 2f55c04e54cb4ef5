#!/usr/bin/env bash
# Conditions that are the same for all lanes of a wave are branches of it, not masks.
#
# usage: wave_conditions_test.sh KILN TARGET...
#
# A comparison of a scalar register with a constant that is made a mask is a v_cmpx on RDNA2 and later, and LLVM exchanges its
# operands without reversing the operation. The constant is the first operand then. Here it is compared with the end of k:
# there is a work-item for each row of a tile, so all of them have the same k.
set -euo pipefail

kiln=$1
shift
export KILN_CACHE_DIR=

fail() {
    echo "FAILED: $*"
    exit 1
}

graph='{"name": "wave conditions", "compute_data_type": "FLOAT", "intermediate_data_type": "FLOAT", "io_data_type": "HALF",
"tensors": [
{"uid": 1, "name": "dy", "data_type": "HALF", "dims": [2, 17, 7, 5], "strides": [85, 5, 170, 1], "virtual": false},
{"uid": 2, "name": "w", "data_type": "HALF", "dims": [17, 1, 3, 7], "strides": [21, 21, 7, 1], "virtual": false},
{"uid": 3, "name": "dx", "data_type": "FLOAT", "dims": [2, 17, 8, 10], "strides": [1360, 80, 10, 1], "virtual": false}],
"nodes": [{"name": "conv", "compute_data_type": "FLOAT", "attributes_type": "ConvolutionBwdAttributes",
"attributes": {"dy_tensor_uid": 1, "w_tensor_uid": 2, "dx_tensor_uid": 3, "pre_padding": [0, 2], "post_padding": [5, 5],
"stride": [1, 1], "dilation": [3, 2], "conv_mode": "CROSS_CORRELATION"}}]}'

checked=0
for target in "$@"; do
    if ! "$kiln" targets | grep -Eq "^$target .*(comgr|clang)( |$)"; then
        echo "skipped: nothing here compiles for $target"
        continue
    fi
    code=$("$kiln" explain --isa --target "$target" --tile 64x128x32 --waves 2x2 --split-k 1 - <<<"$graph")
    [[ $code == *"tile 64x128x32, waves 2x2"* ]] || fail "$target: not the tile that was asked for"
    [[ $code == *v_readfirstlane* ]] || fail "$target: there are no instructions"
    found=$(grep -E 'v_cmpx_[gl][te]_[iu]32_e64 (-?[0-9]+|0x[0-9a-f]+), s[0-9]+' <<<"$code" | head -n 3) || true
    [[ -z $found ]] || fail "$target: conditions of a wave are masks, and the wrong way round: $found"
    checked=$((checked + 1))
done
((checked > 0)) || exit 77
