#!/usr/bin/env bash
# Installs what Kiln needs to be built, tested and used, on Debian 12 or 13 as root.
# Elsewhere it prints what is needed and goes on, so that a machine set up in another way works too.
#
# usage: install_packages.sh [--minimal]
#   --minimal  without clang 19 (targets that comgr lacks, sanitizer and format checks), redis-server and
#              mmdebstrap
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Compilers and build tools; g++ also compiles the kernels of the host device.
packages=(gcc g++ cmake ninja-build pkg-config git ca-certificates)
# Libraries: FlatBuffers reads graphs, xxHash names cache entries, comgr compiles for AMD GPUs, hiredis speaks to a server
# that shares a cache.
packages+=(libflatbuffers-dev flatbuffers-compiler libxxhash-dev libamd-comgr-dev libhiredis-dev)
# Tests.
packages+=(libcriterion-dev libjansson-dev binutils)
if [[ ${1-} != --minimal ]]; then
    # clang 19 compiles for targets that an old comgr does not know, and the project a second time. Graphviz draws
    # `kiln explain --dot`. mmdebstrap makes the Debian systems of the last test legs, dpkg-dev the
    # packages. Tests of the shared cache start redis-server on a port of their own; nothing here uses the one that the
    # package starts.
    packages+=(clang-19 lld-19 llvm-19 libclang-rt-19-dev clang-format-19 graphviz redis-server
               mmdebstrap dpkg-dev debian-archive-keyring)
fi

# clang 22 compiles for gfx950 and gfx1250, which clang 19 does not know. Debian 12 has it among its security updates;
# without it tests of these targets are skipped.
optional=()
if [[ ${1-} != --minimal ]]; then
    optional+=(clang-22 lld-22)
fi

# Sources of an emulator of AMD GPUs beside the project: what building it takes, for the hardware suite.
if [[ ${1-} != --minimal && -d $kiln_root/../shared/emulator ]]; then
    packages+=(llvm-19-dev libamdhip64-dev)
fi

advise() {
    say "$1; Kiln needs what Debian calls:"
    printf '  %s\n' "${packages[@]}" | column -c 100 >&2 2>/dev/null || printf '  %s\n' "${packages[@]}" >&2
    say "Going on with what is there."
    exit 0
}

is_installed() {
    [[ $(dpkg-query --show --showformat '${db:Status-Abbrev}' "$1" 2>/dev/null || true) == ii* ]]
}

# Sets `missing` to the packages that are not installed, of the optional ones those that apt knows.
find_missing() {
    local package
    missing=()
    for package in "${packages[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    for package in "${optional[@]}"; do
        if ! is_installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then
            missing+=("$package")
        fi
    done
}

if command -v dpkg-query >/dev/null; then
    find_missing
    if ((${#missing[@]} == 0)); then
        say "All packages are installed."
        exit 0
    fi
fi

release=unknown
if [[ -r /etc/os-release ]]; then
    release=$(. /etc/os-release && echo "${ID-unknown}-${VERSION_ID-}")
fi
case $release in
debian-12 | debian-13) ;;
*) advise "This is neither Debian 12 nor Debian 13" ;;
esac
((EUID == 0)) || advise "Not root, so nothing is installed"

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
find_missing
say "Installing ${missing[*]}"
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
