#!/usr/bin/env bash
# The completion scripts and the manual page that kiln writes are good for the programs that read them.
#
# usage: shell_files_test.sh KILN
set -euo pipefail
kiln=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
    printf 'error: %s\n' "$*"
    failures=$((failures + 1))
}

for shell in bash zsh fish; do
    "$kiln" help --completion "$shell" >"$folder/$shell"
    if command -v "$shell" >/dev/null; then
        "$shell" -n "$folder/$shell" || fail "$shell does not take its script"
    fi
done

# shellcheck disable=SC1091
source "$folder/bash"

# expect WORDS... -- CANDIDATES: what bash offers for the last of the words.
expect() {
    COMP_WORDS=()
    while [[ $1 != -- ]]; do
        COMP_WORDS+=("$1")
        shift
    done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _kiln || true
    [[ "${COMPREPLY[*]}" == "$*" ]] || fail "'${COMP_WORDS[*]}' gives '${COMPREPLY[*]}', not '$*'"
}

mkdir "$folder/graphs"
touch "$folder/graphs/a graph.bin"
expect kiln com -- compile
expect kiln compile --tar -- --target
expect kiln compile --target gfx94 -- gfx942
expect kiln compile --target gfx90a,gfx95 -- gfx90a,gfx950
expect kiln compile --target = gfx95 -- gfx950
expect kiln compile --target al -- all
expect kiln compile "$folder/graphs/a" -- "$folder/graphs/a graph.bin"
expect kiln compile --cache "$folder/gr" -- "$folder/graphs"
expect kiln compile --jobs 1 --
expect kiln run -d ho -- host
expect kiln explain --schedule sp -- specialized
expect kiln bench softmax_b -- softmax_bf16 softmax_backward softmax_backward_fp32 softmax_backward_fp16
expect kiln bench resnet50_st -- resnet50_stem resnet50_stem_fp16
expect kiln cache pr -- prune
expect kiln cache show xyzzy --
expect kiln cache show pr --
expect kiln help comp -- compile
expect kiln help cache pr -- prune
expect kiln help run pr --
expect kiln help --completion z -- zsh

"$kiln" help --man >"$folder/kiln.1"
for word in 'SH NAME' 'SH "KILN COMPILE"' 'strict' 'KILN_CACHE_DIR' 'merge'; do
    grep -q -- "$word" "$folder/kiln.1" || fail "the manual page lacks '$word'"
done
if command -v groff >/dev/null; then
    warnings=$(groff -ww -man -Tutf8 "$folder/kiln.1" 2>&1 >/dev/null)
    [[ -z $warnings ]] || fail "groff: $warnings"
fi
exit $((failures > 0))
