#!/usr/bin/env bash
# The second test leg: builds and tests Kiln in a Debian 13 system of its own (gcc 14, FlatBuffers 23.5,
# comgr 2.6 that knows gfx942 and gfx1100), made by debootstrap and kept under build/ for the next time.
#
# usage: test_in_chroot.sh [CMAKE_OPTION...]
#
# Exit codes: 0 passed, 1 failed, 77 skipped with the reason.
#
# The mirror is the one that this machine's apt uses. Mounts live in a mount namespace of their own, so they
# are gone when the script ends, however it ends; nothing of this machine is mounted into the system.
# shellcheck disable=SC2016 # the text in single quotes is for other programs to expand
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

suite=trixie
inner=/kiln # where the project lies inside
system=$kiln_root/build/debian-$suite
log=$kiln_root/build/debian-$suite.log

skip() {
    say "skipped: the Debian 13 leg: $*"
    exit 77
}

((EUID == 0)) || skip "it needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
command -v apt-get >/dev/null || skip "there is no apt to take the mirror from"
unshare --mount true 2>/dev/null || skip "mount namespaces are not allowed here"

# Runs a command inside the system: own mounts, no environment but what is named here.
inside() {
    unshare --mount --fork bash -euc '
        system=$1
        shift
        mount --make-rprivate /
        mount -t proc proc "$system/proc"
        mkdir -p "$system/dev/shm" "$system/dev/pts"
        mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
        ln -sf pts/ptmx "$system/dev/ptmx"
        exec chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            ${CI:+CI="$CI"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
            KILN_JOBS="$KILN_JOBS" "$@"
    ' bash "$system" "$@"
}

mirror() {
    local codename
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" "Component: main" \
        "Created-By: Packages" | sort -u | head -n 1
}

# The system is made in a temporary folder and renamed, so that an interrupted run leaves no half of it.
make_system() {
    local uri partial=$system.partial
    uri=$(mirror)
    [[ -n $uri ]] || skip "apt names no mirror; run 'apt-get update' first"
    rm -rf --one-file-system "$partial" "$system"
    mkdir -p "$partial"
    eval "$(apt-config shell apt_proxy Acquire::http::Proxy)"
    if [[ -n ${apt_proxy-} ]]; then
        export http_proxy=$apt_proxy
    fi
    heading "making a Debian 13 system"
    quietly "$log" debootstrap --variant=minbase "$suite" "$partial" "$uri" || return 1
    cp /etc/resolv.conf "$partial/etc/resolv.conf" 2>/dev/null || true
    mv "$partial" "$system"
}

# The sources as they are in the working tree, and the graphs that stand beside it, where they do.
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
[[ -x $system/usr/bin/apt-get ]] || make_system || exit 1
copy_sources
heading "Debian 13: packages"
quietly "$log" inside bash "$inner/main/scripts/install_packages.sh" --minimal || exit 1
heading "Debian 13: build"
inside bash -euc '
    inner=$1
    shift
    cmake -G Ninja -S "$inner/main" -B "$inner/build" -DCMAKE_BUILD_TYPE=Debug -DKILN_WERROR=ON \
        -DKILN_BUILD_TESTS=ON -DKILN_BUILD_BENCHMARKS=ON \
        -DKILN_TEST_SHARE=2/4 "-DKILN_CODE_OBJECT_TARGETS=gfx90a:1/16;gfx942;gfx1030:2/2;gfx1100" \
        -DKILN_RANDOM_TIMES=1 "$@" >/dev/null
    ninja -C "$inner/build" -j "$KILN_JOBS" --quiet
' bash "$inner" "$@"
heading "Debian 13: tests"
inside ctest --test-dir "$inner/build" -LE '^hip$' --output-on-failure --no-tests=error -j "$KILN_JOBS"
heading "Debian 13: targets that its comgr knows and Debian 12's does not"
inside bash -euc '
    # The test code_objects has compiled every graph for them.
    for target in gfx942 gfx1100; do
        "$1/build/cli/kiln" targets | grep -qE "^$target .* comgr$" || { echo "error: comgr does not serve $target"; exit 1; }
    done
' bash "$inner"
