#!/usr/bin/env bash
# The hardware suite, docs/hardware-suite.md: everything that a person with an AMD GPU should run once.
#
# usage: test_hip.sh PRESET
#
# Builds the preset and runs every test with the label hip
#   - against the HIP library that KILN_HIP_LIBRARY names, where it is set;
#   - else on this machine's AMD GPU, where there is one;
#   - else, where ../shared/emulator has an emulator of AMD GPUs, in parts on several of its targets.
# In the end it prints one page and names the file with everything that was found.
#
# Exit codes: 0 passed, 1 failed, 77 skipped with the reason.
#
# HIP_SUITE_EMULATOR names another folder for the emulator's sources; empty: none. HIP_SUITE_TARGETS lists other targets for
# it; the graphs are shared among them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=${1:?usage: test_hip.sh PRESET}
build=$kiln_root/build/$preset
emulator=${HIP_SUITE_EMULATOR-$kiln_root/../shared/emulator}
emulator_build=$kiln_root/build/emulator
read -ra emulated_targets <<<"${HIP_SUITE_TARGETS-gfx90a gfx942 gfx1030 gfx1100 gfx1201}"

skip() {
    say "skipped: the hardware suite: $*"
    exit 77
}

build_preset() {
    mkdir -p "$kiln_root/build"
    cd "$kiln_root"
    quietly "build/$preset-configure.log" cmake --preset "$preset" -DKILN_BUILD_TESTS=ON &&
        cmake --build "$build" -j "$kiln_jobs" -- --quiet
}

# One line per step: name, result, seconds, the last line of its output.
print_steps() {
    local out=$1 line name result seconds
    while read -r line; do
        [[ $line =~ hip_([a-z0-9_]+)\ [.\ ]*(Passed|\*\*\*[A-Za-z]+)[^0-9]*([0-9.]+)\ sec ]] || continue
        name=${BASH_REMATCH[1]} result=${BASH_REMATCH[2]#\*\*\*} seconds=${BASH_REMATCH[3]}
        printf '%-22s %-8s %7.1f s  %s\n' "$name" "${result,,}" "$seconds" "$(tail -n 1 "$out/$name.log" 2>/dev/null)"
    done < <(sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#([0-9]+): /\1 /p' "$out/ctest.log" | sort -n)
}

print_facts() {
    printf 'date      %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)"
    printf 'commit    %s\n' "$(git -C "$kiln_root" describe --always --dirty 2>/dev/null || echo unknown)"
    printf 'device    %s\n' "$1"
    printf 'library   %s\n' "${KILN_HIP_LIBRARY-the one of this system}"
    printf 'system    %s\n' "$(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME-unknown}"), kernel $(uname -r)"
}

# run_suite DEVICE OUT [CTEST_OPTION...]: all steps on what the environment names; leaves page.txt in OUT.
run_suite() {
    local device=$1 out=$2 code=0
    shift 2
    rm -rf "$out"
    mkdir -p "$out"
    export HIP_SUITE_OUT=$out
    export KILN_CACHE_DIR=$out/cache
    ctest --test-dir "$build" -L '^hip$' --no-tests=error --output-on-failure -j "$kiln_jobs" "$@" 2>&1 |
        tee "$out/ctest.log" || code=1
    {
        print_facts "$device"
        echo
        print_steps "$out"
    } >"$out/page.txt"
    return $code
}

# What `kiln targets` says runs on the device hip, or "- reason".
find_device() {
    "$build/cli/kiln" targets | sed -nE '/^device +runs/,$ s/^hip +//p'
}

# Everything once on the library's device, and a file to send.
test_device() {
    local device out code=0 file
    build_preset || exit 1
    device=$(find_device)
    [[ -n $device && $device != -* ]] || skip "${device#- }"
    out=$kiln_root/build/hip-suite
    run_suite "$device" "$out" || code=1
    "$build/cli/kiln" targets --json >"$out/targets.json" || true
    "$build/cli/kiln" config >"$out/config.txt" || true
    "$build/cli/kiln" doctor >"$out/doctor.txt" || true
    rm -rf "$out/cache"
    file=$kiln_root/build/kiln-hip-report-${device%%:*}.tar.gz
    tar -C "$out/.." -czf "$file" "$(basename "$out")"
    heading "hardware suite"
    cat "$out/page.txt"
    echo
    echo "Please attach this file to a new issue in the project's issue tracker, whether all passed or not:"
    echo "  $file"
    echo "It has the page above, the output of every step, the measurements, and what compiles here. It names folders of"
    echo "this machine (look into build/hip-suite first if that matters)."
    return $code
}

# In parts, one per target, which together cover every graph; then once more what synchronises, with a queue that runs
# nothing before it must.
test_emulated() {
    local target number=0 code=0 device shares=${#emulated_targets[@]}
    ((shares >= 5)) || shares=5 # what a part may take
    make -s -C "$emulator" B="$emulator_build" need need-hip ||
        skip "the emulator cannot be built here"
    heading "the emulator"
    quietly "$kiln_root/build/emulator.log" make -C "$emulator" B="$emulator_build" -j "$kiln_jobs" all || exit 1
    build_preset || exit 1
    export KILN_HIP_LIBRARY=$emulator_build/libamdhip64.so.5
    export EMU_CHECK_UNINIT=2 EMU_CHECK_MEM=1 EMU_CHECK_RACE=1 EMU_THREADS=1 EMU_DEVICES=2
    # What another test of the same build has compiled for these targets already.
    local compiled=$build/tests/end_to_end/code_objects_cache
    if [[ -d $compiled ]]; then
        export KILN_CACHE_LAYERS=$compiled
    fi
    for target in "${emulated_targets[@]}"; do
        number=$((number + 1))
        heading "hardware suite: $target, emulated"
        export EMU_ARCH=$target HIP_SUITE_SHARE=$number/$shares
        device=$(find_device)
        if [[ -z $device || $device == -* ]]; then
            say "FAILED: $target: ${device#- }"
            code=1
            continue
        fi
        run_suite "$device" "$kiln_root/build/hip-suite-$target" || code=1
    done
    heading "hardware suite: streams, emulated lazily"
    EMU_STREAM=lazy run_suite "$device" "$kiln_root/build/hip-suite-lazy" -R '^hip_(streams|captures|devices|threads)$' ||
        code=1
    heading "hardware suite: planted faults"
    HIP_SUITE_SHARE='' EMU_ARCH=gfx1100 bash tests/hardware/planted_faults_test.sh "$build/tests/hardware/shapes_test" || code=1
    heading "hardware suite"
    for target in "${emulated_targets[@]}" lazy; do
        cat "$kiln_root/build/hip-suite-$target/page.txt" 2>/dev/null || true
        echo
    done
    return $code
}

if [[ -n ${KILN_HIP_LIBRARY-} ]]; then
    [[ -e $KILN_HIP_LIBRARY ]] || fail "KILN_HIP_LIBRARY names '$KILN_HIP_LIBRARY', which is not there"
    test_device
elif [[ -e /dev/kfd || -e /dev/dxg ]]; then
    test_device
elif [[ -n $emulator && -d $emulator ]]; then
    test_emulated
else
    skip "this machine has no AMD GPU (no /dev/kfd), KILN_HIP_LIBRARY is not set, and there is no emulator beside the project"
fi
