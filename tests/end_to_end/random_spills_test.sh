#!/usr/bin/env bash
# Random graphs for every target that something here compiles: no kernel keeps scratch in the form that is taken. Kernels that take
# more than two seconds of CPU time to compile, with all their forms, are listed and fail nothing.
#
# usage: random_spills_test.sh KILN RANDOM_GRAPH_FILES DIRECTORY [I/N [COUNT [TARGET,...]]]
#   I/N    the I-th of N parts of the graphs for the first target, the next part for the next target, and so on
#   COUNT  graphs in all parts together (default: 200)
set -euo pipefail

kiln=$1 random_graph_files=$2 directory=$3 share=${4:-1/1} count=${5:-200}
part=${share%/*} parts=${share#*/}
rm -rf "$directory"
mkdir -p "$directory"
"$random_graph_files" "$directory/graphs" "$count" 70000 12
export KILN_CACHE_DIR= KILN_LOG_LEVEL=warn

if [[ -n ${6:-} ]]; then
    IFS=, read -ra targets <<<"$6"
else
    mapfile -t targets < <("$kiln" targets | awk '$1 ~ /^gfx/ && / (comgr|clang)( |$)/ {print $1}')
fi
# In a build that runs the I-th of N parts, every N-th target.
IFS=/ read -r build_part build_parts <<<"${KILN_TEST_SHARE:-1/1}"
for i in "${!targets[@]}"; do
    ((i % build_parts == build_part - 1)) || unset "targets[$i]"
done
if ((${#targets[@]} == 0)); then
    echo "skipped: nothing here compiles for any AMD GPU"
    exit 77
fi
spills=$directory/spills slow=$directory/slow
: >"$spills" >"$slow"
for i in "${!targets[@]}"; do
    target=${targets[$i]}
    report=$directory/$target.jsonl log=$directory/$target.log
    "$kiln" compile --target "$target" --shard "$(((part - 1 + i) % parts + 1))/$parts" --report "$report" "$directory/graphs" \
        >/dev/null 2>"$log" || true # the report says what failed
    if [[ ! -s $report ]] || grep -qE '"outcome": ?"(failed|unreadable)"' "$report"; then
        cat "$log"
        echo "FAILED: graphs do not compile for $target"
        exit 1
    fi
    grep -o "kernel '[^']*' is slower.*" "$log" >>"$spills" || true
    # Members of a line are in the order of the report.
    sed -nE 's/.*"graph": ?"([^"]*)".*"scratch_bytes": ?([0-9]+),.*"slowest_ns": ?([0-9]+).*/\1 \2 \3/p' "$report" |
        while read -r graph scratch nanoseconds; do
            ((scratch == 0)) || echo "$graph for $target: $scratch bytes per work-item" >>"$spills"
            ((nanoseconds <= 2000000000)) || echo "$graph for $target: $((nanoseconds / 1000000)) ms" >>"$slow"
        done
done
echo "part $share of $count graphs for ${#targets[@]} targets"
echo "kernels that take more than 2 s to compile: $(wc -l <"$slow")"
cat "$slow"
if [[ -s $spills ]]; then
    cat "$spills"
    echo "FAILED: kernels keep scratch"
    exit 1
fi
