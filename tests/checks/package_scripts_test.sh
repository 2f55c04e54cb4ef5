#!/usr/bin/env bash
# Checks the scripts of the .deb in a root of their own. The links lead to where the package has the plugin. A directory
# that cannot be made does not fail dpkg. Removal takes nothing but the links.
#
# usage: package_scripts_test.sh CMAKE SOURCE_DIRECTORY
set -euo pipefail

cmake=$1 source=$2
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

fail() {
    echo "error: $1" >&2
    exit 1
}

ln -s "$source/packaging" "$source/LICENSE" "$temporary/"
cat >"$temporary/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(package LANGUAGES NONE)
set(kiln_plugin_dir lib/x86_64-linux-gnu/hipdnn_plugins/engines)
set(kiln_plugin_file kiln_plugin.so)
include(${MODULES}/KilnPackage.cmake)
END
"$cmake" -S "$temporary" -B "$temporary/build" -DMODULES="$source/cmake" >"$temporary/log" 2>&1 ||
    fail "$(cat "$temporary/log")"

export DPKG_ROOT=$temporary/root
plugin=/usr/lib/x86_64-linux-gnu/hipdnn_plugins/engines/kiln_plugin.so
links=lib/hipdnn_plugins/engines
mkdir -p "$DPKG_ROOT"/opt/rocm-{6,7,8}/lib "$DPKG_ROOT/opt/rocm-6/$links" "$DPKG_ROOT${plugin%/*}"
touch "$DPKG_ROOT"/opt/rocm-{6,7,8}/lib/libhipdnn_backend.so "$DPKG_ROOT/usr/lib/x86_64-linux-gnu/libhipdnn_backend.so"
touch "$DPKG_ROOT$plugin" "$DPKG_ROOT/opt/rocm-6/$links/kiln_plugin.so"
touch "$DPKG_ROOT/opt/rocm-7/lib/hipdnn_plugins" # a file in the directory's place

sh "$temporary/build/packaging/postinst" configure 2>"$temporary/log" || fail "postinst: $(cat "$temporary/log")"
grep -q "rocm-7/.* has no link" "$temporary/log" || fail "postinst does not name the directory without a link"
[[ $(readlink "$DPKG_ROOT/opt/rocm-8/$links/kiln_plugin.so") == "$plugin" ]] || fail "the link is missing or leads elsewhere"
sh "$temporary/build/packaging/prerm" remove || fail "prerm"
[[ ! -e $DPKG_ROOT/opt/rocm-8/lib/hipdnn_plugins ]] || fail "the link or its directory remains"
[[ ! -L $DPKG_ROOT$plugin && -f $DPKG_ROOT$plugin ]] || fail "the plugin is gone"
[[ -f $DPKG_ROOT/opt/rocm-6/$links/kiln_plugin.so ]] || fail "somebody else's plugin is gone"
echo passed
