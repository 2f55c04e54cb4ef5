#!/usr/bin/env bash
# Arrays that a compiler cannot keep in registers do not go to local memory, of which the schedule has counted out what the
# kernel takes.
#
# usage: private_arrays_test.sh KILN TARGET...
set -euo pipefail

kiln=$1
shift
export KILN_CACHE_DIR=

# Streamed, with a window over rows whose memory runs along neither k nor the channels: packs are loaded element by element.
graph='{"name":"private arrays","compute_data_type":"FLOAT","intermediate_data_type":"FLOAT","io_data_type":"BFLOAT16",
"tensors":[
{"uid":1,"name":"x","data_type":"BFLOAT16","dims":[3,13,7,2],"strides":[252,1,36,14],"virtual":false},
{"uid":2,"name":"w","data_type":"BFLOAT16","dims":[12,13,2,3],"strides":[78,6,3,1],"virtual":false},
{"uid":3,"name":"scale","data_type":"FLOAT","dims":[12,13,2,1],"strides":[13,1,156,0],"virtual":false},
{"uid":4,"name":"scaled","data_type":"FP8_E5M2","dims":[12,13,2,3],"strides":[78,6,3,1],"virtual":true},
{"uid":5,"name":"y","data_type":"BFLOAT16","dims":[3,12,3,1],"strides":[36,1,12,0],"virtual":true},
{"uid":6,"name":"sums","data_type":"BFLOAT16","dims":[1,12,1,1],"strides":[0,1,0,0],"virtual":false}],
"nodes":[
{"name":"scaling","compute_data_type":"FLOAT","attributes_type":"PointwiseAttributes","attributes":{"operation":"MUL","in_0_tensor_uid":2,"in_1_tensor_uid":3,"out_0_tensor_uid":4}},
{"name":"conv","compute_data_type":"FLOAT","attributes_type":"ConvolutionFwdAttributes","attributes":{"x_tensor_uid":1,"w_tensor_uid":4,"y_tensor_uid":5,"pre_padding":[0,3],"post_padding":[1,0],"stride":[3,3],"dilation":[1,1],"conv_mode":"CONVOLUTION"}},
{"name":"sum","compute_data_type":"FLOAT","attributes_type":"ReductionAttributes","attributes":{"mode":"ADD","in_tensor_uid":5,"out_tensor_uid":6}}]}'

checked=0
for target in "$@"; do
    if ! "$kiln" targets | grep -Eq "^$target .*(comgr|clang)( |$)"; then
        echo "skipped: nothing here compiles for $target"
        continue
    fi
    "$kiln" explain --target "$target" - <<<"$graph" >/dev/null
    checked=$((checked + 1))
done
((checked > 0)) || exit 77
