#!/usr/bin/env bash
# Checks the library directory on distributions that keep libraries in lib64: ROCm's prefix has lib, /usr has lib64, and
# CMAKE_INSTALL_LIBDIR overrides both. A module in the place of CMake's own plays such a distribution.
#
# usage: install_directories_test.sh CMAKE MODULE_DIRECTORY
set -euo pipefail

cmake=$1 modules=$2
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

cat >"$temporary/GNUInstallDirs.cmake" <<'EOF'
if(NOT DEFINED CMAKE_INSTALL_LIBDIR)
    set(CMAKE_INSTALL_LIBDIR lib64)
endif()
EOF
cat >"$temporary/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(directories LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR} ${MODULES})
include(KilnInstallDirectories)
message("directory=${CMAKE_INSTALL_LIBDIR}")
EOF

# expect DIRECTORY PREFIX [OPTION...]
expect() {
    local wanted=$1 prefix=$2 output found
    shift 2
    rm -rf "$temporary/build"
    output=$("$cmake" -S "$temporary" -B "$temporary/build" -DMODULES="$modules" -DCMAKE_INSTALL_PREFIX="$prefix" \
        "$@" 2>&1) || true
    found=$(sed -n 's/^directory=//p' <<<"$output")
    if [[ $found != "$wanted" ]]; then
        echo "error: prefix $prefix $*: '$found' instead of '$wanted': $output" >&2
        exit 1
    fi
}

expect lib /opt/rocm
expect lib /usr/local
expect lib64 /usr
expect lib64 /opt/rocm -DCMAKE_INSTALL_LIBDIR=lib64
expect lib /usr -DCMAKE_INSTALL_LIBDIR=lib
echo passed
