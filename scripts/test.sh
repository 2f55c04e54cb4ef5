#!/usr/bin/env bash
# Installs what is needed, builds and runs the tests. On two cores: below 25 minutes.
#
# usage: test.sh [--quick | --hip | --long]
#   --quick  only the first leg
#   --long   every leg runs whole sweeps, and ten times as many random graphs; this takes hours
#   --hip    the hardware suite alone, in a release build: for people with an AMD GPU, to run once
#
# Legs: tests that spend their time in compilers or file systems run in parts, others in each leg, with other seeds for random
# graphs (scripts/README.md).
#
#   dev     gcc, debug, warnings are errors, every test
#   hip     the hardware suite on a GPU or, in parts, on emulated ones (scripts/test_hip.sh), with the build of the first leg
#   clang   everything built with clang 19, warnings are errors
#   asan    address and undefined-behaviour sanitizers, every test but checks of the tree and of device code
#   debian  everything built and tested in a Debian 13 system (scripts/test_in_chroot.sh)
#   package the release build and its packages, used in bare Debian 12 and 13 systems (scripts/test_packages.sh)
#
# All legs run even when one fails. The last line is 'N passed, N failed, N skipped', counting tests over all legs;
# a leg that fails without a failed test counts as one failure. Exit codes: 0 passed, 1 failed, 77 with --hip alone, where
# there is nothing to run it on.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

legs=(dev hip clang asan debian package)
hip_preset=dev
sweeps=()
package_options=()
case ${1-} in
'') ;;
--quick) legs=(dev) ;;
--hip) legs=(hip) hip_preset=release ;;
--long)
    package_options=(--long)
    sweeps=(-DKILN_TEST_SHARE=1/1 -DKILN_RANDOM_TIMES=10
        "-DKILN_CODE_OBJECT_TARGETS=gfx90a;gfx942;gfx1030;gfx1100;gfx1201;gfx950")
    ;;
*) fail "unknown option '$1'" ;;
esac

cd "$kiln_root"
mkdir -p build
passed=0 failed=0 skipped=0
summary=()

build() {
    local preset=$1
    quietly "build/$preset-configure.log" cmake --preset "$preset" "${sweeps[@]}" &&
        cmake --build "build/$preset" -j "$kiln_jobs" -- --quiet
}

run_ctest() {
    local preset=$1
    shift
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$kiln_jobs" "$@"
}

# The hardware suite is a leg of its own.
leg_dev() { build dev && run_ctest dev -LE '^hip$'; }
leg_hip() { bash scripts/test_hip.sh "$hip_preset"; }
leg_clang() {
    if ! command -v clang++-19 >/dev/null; then
        say "skipped: the clang leg: clang++-19 is not installed"
        return 77
    fi
    build clang
}
leg_asan() { build asan && run_ctest asan -LE '^(check|hip)$'; }
leg_debian() { bash scripts/test_in_chroot.sh "${sweeps[@]}"; }
leg_package() { bash scripts/test_packages.sh "${package_options[@]}"; }

# Adds what CTest's closing lines in a leg's output say to the totals. A leg may run CTest several times.
count_tests() {
    local output=$1 leg_failed leg_total leg_skipped
    read -r leg_failed leg_total < <(
        sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$output" |
            awk '{ failed += $1; total += $2 } END { if (NR) print failed, total }'
    ) || return 0
    leg_skipped=$(grep -cE '\*\*\*Skipped|\(Disabled\)' "$output") || true
    failed=$((failed + leg_failed))
    skipped=$((skipped + leg_skipped))
    passed=$((passed + leg_total - leg_failed - leg_skipped))
}

run_leg() {
    local leg=$1 output=build/leg-$1.log code=0 failed_before=$failed start=$SECONDS result
    heading "leg $leg"
    "leg_$leg" 2>&1 | tee "$output" || code=${PIPESTATUS[0]}
    count_tests "$output"
    case $code in
    0) result=passed ;;
    77) result=skipped skipped=$((skipped + 1)) ;;
    *)
        result=FAILED
        ((failed > failed_before)) || failed=$((failed + 1))
        ;;
    esac
    summary+=("$(printf '%-7s %-8s %4d s' "$leg" "$result" $((SECONDS - start)))")
}

bash scripts/install_packages.sh
for leg in "${legs[@]}"; do
    run_leg "$leg"
done

heading "summary"
printf '%s\n' "${summary[@]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0)) || exit 1
if [[ ${legs[*]} == hip ]] && ((passed == 0)); then
    exit 77
fi
