#!/usr/bin/env bash
# Fails when a file of the project names a folder of one machine or the host of a package registry.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

# Patterns are spelled so that this file does not match itself.
patterns=(
    '(^|[^A-Za-z0-9_.$}/])/(wor[k]|hom[e]|Users)/[A-Za-z]'
    'https?://[^ ]*(debia[n]|ubunt[u]|np[m]|pyp[i])[^ ]*'
    "$(printf '%s' "$kiln_root" | sed 's/[][\.*^$+?(){}|]/\\&/g')/"
)

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    mapfile -d '' files < <(git ls-files -z)
else
    mapfile -d '' files < <(find . -path ./build -prune -o -type f -print0)
fi
((${#files[@]} > 0)) || fail "found no files to check"

faults=0
for pattern in "${patterns[@]}"; do
    if grep -nIE -- "$pattern" "${files[@]}" 2>/dev/null; then
        faults=$((faults + 1))
    fi
done
printf '%d files checked\n' "${#files[@]}"
((faults == 0)) || fail "machine paths or registry hosts (above)"
