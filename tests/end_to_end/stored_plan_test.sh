#!/usr/bin/env bash
# A stored plan in another process: equal bits without compiler, worker and cache.
#
# usage: stored_plan_test.sh STORED_PLAN DIRECTORY GRAPH...
set -euo pipefail

stored_plan=$1 directory=$2
shift 2
rm -rf "$directory"
mkdir -p "$directory"

for graph in "$@"; do
    "$stored_plan" store "$graph" "$directory/plan" "$directory/cache" >"$directory/expected"
    [[ -s $directory/expected ]] || { echo "FAILED: no outputs of $graph"; exit 1; }
    env -i PATH=/nowhere KILN_COMPILE_WORKER=/nowhere/kiln-compile KILN_HOST_CXX=/nowhere/c++ \
        KILN_ENFORCE_PRECOMPILED=1 \
        "$stored_plan" restore "$graph" "$directory/plan" "$directory/empty" >"$directory/restored"
    cmp "$directory/expected" "$directory/restored" || { echo "FAILED: other bits of $graph"; exit 1; }
done
echo "$# plans restored in another process"
