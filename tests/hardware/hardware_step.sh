#!/usr/bin/env bash
# One step of the hardware suite (docs/hardware-suite.md); CTest runs them all under the label hip.
#
# usage: hardware_step.sh STEP
#
# The SUITE_ variables name the programs and folders; CTest sets them. Others are for whoever runs the suite:
#   HIP_SUITE_OUT    folder for logs and results (default: hip-suite below the working directory)
#   HIP_SUITE_SHARE  I/N: the I-th of N parts of the graphs, small sizes (default: everything)
#
# Exit codes: 0 passed, 77 skipped with the reason, else failed. The last line of output says what was found; STEP.log in
# HIP_SUITE_OUT has all of it.
set -euo pipefail

step=$1
out=${HIP_SUITE_OUT:-$PWD/hip-suite}
share=${HIP_SUITE_SHARE:-1/1}
part=${share%/*} parts=${share#*/}
mkdir -p "$out"
export KILN_DEVICE=hip
# A busy machine is no fault of a kernel's.
export KILN_COMPILE_TIMEOUT=${KILN_COMPILE_TIMEOUT:-600}

skip() {
    echo "skipped: $*"
    exit 77
}

# full_or_part FULL PART: the first when everything is run.
full_or_part() {
    if ((parts == 1)); then echo "$1"; else echo "$2"; fi
}

# random SEED FULL PART [OPTION...]: so many random graphs, others in every part.
random() {
    local seed=$1 count
    count=$(full_or_part "$2" "$3")
    shift 3
    "$SUITE_RANDOM_GRAPHS" --device hip --count "$count" --seed $((seed + part * 1000)) "$@"
}

run_samples() {
    local graph done=0 failed=0
    while read -r graph; do
        done=$((done + 1))
        if ! "$SUITE_KILN" run --device hip --verify --workspace-poison "$graph" >"$out/sample.log" 2>&1; then
            echo "FAILED: ${graph#"$SUITE_SAMPLES"/}"
            cat "$out/sample.log"
            failed=$((failed + 1))
        fi
    done < <(find "$SUITE_SAMPLES" -name '*.json' | sort)
    rm -f "$out/sample.log"
    echo "$done sample graphs, every element compared: $failed failed"
    ((done > 0 && failed == 0))
}

run_shared_graphs() {
    [[ -d $SUITE_GRAPHS/$1 ]] || skip "there is no folder shared/graphs/$1 beside the project"
    "$SUITE_SHARED_GRAPHS" --device hip --share "$share" "$SUITE_PLUGIN" "$SUITE_GRAPHS/$1"
}

only_in_full() {
    ((parts == 1)) || skip "too large for a part of the suite"
}

run_bench() {
    local options=(--all) count
    if ((parts > 1)); then
        options=(--elements 16384 --samples 2 --no-unfused add_relu_fp32 softmax_fp16)
    fi
    "$SUITE_KILN" bench --device hip --report "$out/bench.json" "${options[@]}"
    count=$(grep -c '"share_of_copy"' "$out/bench.json") || true
    echo "$count graphs measured"
    ((count > 0))
}

run_step() {
    # "hip     gfx942:..." where there is a GPU, "hip     - reason" where not.
    local device
    device=$("$SUITE_KILN" targets | sed -nE '/^device +runs/,$ s/^hip +//p')
    [[ -n $device && $device != -* ]] || skip "${device#- }"
    case $step in
    samples) run_samples ;;
    shared_graphs_*) run_shared_graphs "${step#shared_graphs_}" ;;
    random_pointwise) random 100000 2000 16 ;;
    random_all) random 200000 2000 12 --families all --max-nodes 12 --max-elements 6000 ;;
    random_norms) random 300000 500 10 --families norms,reductions --max-nodes 4 --max-elements 12000 ;;
    random_segments) random 400000 200 4 --families norms,reductions --max-nodes 3 --max-elements 150000 ;;
    random_unfused) random 500000 200 4 --families all --max-nodes 12 --no-fusion ;;
    random_scalar) random 600000 200 4 --families all --max-nodes 12 --no-vectors ;;
    random_repeated) random 700000 200 4 --families all --max-nodes 8 --repeat ;;
    conversions) "$SUITE_CONVERSIONS" hip "$share" ;;
    shapes) "$SUITE_SHAPES" --share "$share" ;;
    shapes_large)
        only_in_full
        "$SUITE_SHAPES" --large
        ;;
    shapes_huge)
        only_in_full
        "$SUITE_SHAPES" --huge
        ;;
    streams | captures | devices | threads) "$SUITE_PLUGIN_GPU" "$SUITE_PLUGIN" "$step" ;;
    bench) run_bench ;;
    *)
        echo "error: there is no step '$step'"
        return 2
        ;;
    esac
}

# Not in a condition, where bash would go on after a failure.
set +e
(
    set -e
    run_step
) 2>&1 | tee "$out/$step.log"
exit "${PIPESTATUS[0]}"
