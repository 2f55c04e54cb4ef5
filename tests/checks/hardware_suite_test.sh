#!/usr/bin/env bash
# Without any HIP library or GPU the hardware suite is skipped in words, and not failed; with a library that is not there it
# fails.
#
# usage: hardware_suite_test.sh PROJECT
#
# Exit code 77: this machine has an AMD GPU.
set -euo pipefail

project=$1

fail() {
    echo "FAILED: $*"
    exit 1
}

# expect CODE TEXT [VARIABLE=VALUE...]: runs the script in such an environment.
expect() {
    local wanted=$1 text=$2 code=0 output
    shift 2
    output=$(env -u KILN_HIP_LIBRARY HIP_SUITE_EMULATOR= "$@" bash "$project/scripts/test_hip.sh" none 2>&1) || code=$?
    ((code == wanted)) || fail "exit code $code instead of $wanted: $output"
    [[ $output == *"$text"* ]] || fail "'$text' is not in: $output"
}

expect 1 "KILN_HIP_LIBRARY names '/nowhere/libamdhip64.so', which is not there" KILN_HIP_LIBRARY=/nowhere/libamdhip64.so
if [[ -e /dev/kfd || -e /dev/dxg ]]; then
    echo "skipped: this machine has an AMD GPU"
    exit 77
fi
expect 77 "skipped: the hardware suite: this machine has no AMD GPU"
expect 77 "skipped: the hardware suite: this machine has no AMD GPU" HIP_SUITE_EMULATOR=/nowhere
echo "passed"
