#!/usr/bin/env bash
# Checks what installed binaries ask of the system that loads them: the newest glibc version, no C++ runtime, all symbols
# bound at start, and in release builds no symbol table. docs/installing.md names the systems that are served.
#
# usage: portable_binaries_test.sh BUILD_TYPE FILE...
set -euo pipefail

newest_allowed=2.34
# A newer glibc gives the same functions newer versions; packages are built on Debian 12.
newest_measurable=2.37
build_type=$1
shift
faults=0

fault() {
    printf 'error: %s\n' "$*" >&2
    faults=$((faults + 1))
}

# is_newer A B: true if version A is newer than B.
is_newer() {
    [[ $1 != "$2" && $(printf '%s\n' "$1" "$2" | sort -V | tail -n 1) == "$1" ]]
}

system_glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
for file in "$@"; do
    symbols=$(objdump -T "$file")
    dynamic=$(readelf --dynamic --program-headers --sections --wide "$file")
    newest=$(grep -oE 'GLIBC_[0-9.]+' <<<"$symbols" | sed 's/GLIBC_//' | sort -uV | tail -n 1)
    if is_newer "$newest" "$newest_allowed" && ! is_newer "$system_glibc" "$newest_measurable"; then
        fault "'$file' needs glibc $newest, allowed is $newest_allowed: $(grep -F "GLIBC_$newest" <<<"$symbols")"
    fi
    if grep -qE 'GLIBCXX_|CXXABI_' <<<"$symbols"; then
        fault "'$file' needs the system's C++ runtime"
    fi
    grep -q BIND_NOW <<<"$dynamic" || fault "'$file' binds its symbols lazily"
    grep -q GNU_RELRO <<<"$dynamic" || fault "'$file' has no RELRO segment"
    ! grep -qE 'R(UN)?PATH' <<<"$dynamic" || fault "'$file' has a search path for libraries"
    if [[ $build_type == Release ]] && grep -qF .symtab <<<"$dynamic"; then
        fault "'$file' is not stripped"
    fi
    printf '%s: glibc %s\n' "${file##*/}" "$newest"
done
((faults == 0))
