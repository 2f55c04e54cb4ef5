#!/usr/bin/env bash
# A test leg: builds and tests Kiln in a Debian 13 system of its own (gcc 14, FlatBuffers 23.5, comgr 2.6 that knows gfx942
# and gfx1100), kept below build/ for the next time.
#
# usage: test_in_chroot.sh [CMAKE_OPTION...]
#
# Exit codes: 0 passed, 1 failed, 77 skipped with the reason.
# shellcheck disable=SC2016 # the text in single quotes is for other programs to expand
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/debian_system.sh"

inner=/kiln # where the project lies inside
bare=$kiln_root/build/debian-trixie-bare
system=$kiln_root/build/debian-trixie
log=$kiln_root/build/debian-trixie.log

obstacle=$(system_obstacle)
if [[ -n $obstacle ]]; then
    say "skipped: the Debian 13 leg: $obstacle"
    exit 77
fi

# The sources as they are in the working tree, and the graphs next to it, if there are any.
copy_sources() {
    rm -rf --one-file-system "$system$inner/main"
    mkdir -p "$system$inner/main" "$system$inner/shared"
    tar -C "$kiln_root" --exclude=./build --exclude=./build-* --exclude=./.git -cf - . |
        tar -C "$system$inner/main" -xf -
    rm -rf --one-file-system "$system$inner/shared/graphs"
    if [[ -d $kiln_root/../shared/graphs ]]; then
        cp -r "$kiln_root/../shared/graphs" "$system$inner/shared/graphs"
    fi
}

export KILN_JOBS=$kiln_jobs
mkdir -p "$kiln_root/build"
if [[ ! -x $system/usr/bin/apt-get ]]; then
    # scripts/test_packages.sh needs the bare system.
    system_make trixie "$bare" || exit 1
    rm -rf --one-file-system "$system.partial" "$system"
    cp -a --reflink=auto "$bare" "$system.partial" && mv "$system.partial" "$system" || exit 1
fi
copy_sources
heading "Debian 13: packages"
quietly "$log" system_run "$system" bash "$inner/main/scripts/install_packages.sh" --minimal || exit 1
heading "Debian 13: build"
system_run "$system" bash -euc '
    inner=$1
    shift
    cmake -G Ninja -S "$inner/main" -B "$inner/build" -DCMAKE_BUILD_TYPE=Debug -DKILN_WERROR=ON \
        -DKILN_BUILD_TESTS=ON -DKILN_BUILD_BENCHMARKS=ON \
        -DKILN_TEST_SHARE=6/16 "-DKILN_CODE_OBJECT_TARGETS=gfx90a:3/32;gfx942:3/32;gfx1030:3/32;gfx1100:3/32" \
        -DKILN_RANDOM_TIMES=1 "$@" >/dev/null
    ninja -C "$inner/build" -j "$KILN_JOBS" --quiet
' bash "$inner" "$@"
heading "Debian 13: tests"
system_run "$system" ctest --test-dir "$inner/build" -LE '^hip$' --output-on-failure --no-tests=error -j "$KILN_JOBS"
heading "Debian 13: targets that its comgr knows and Debian 12's does not"
system_run "$system" bash -euc '
    # The test code_objects has compiled every graph for them.
    for target in gfx942 gfx1100; do
        "$1/build/cli/kiln" targets | grep -qE "^$target .* comgr( |$)" || { echo "error: comgr does not serve $target"; exit 1; }
    done
' bash "$inner"
