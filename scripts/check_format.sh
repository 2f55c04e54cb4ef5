#!/usr/bin/env bash
# Fails when clang-format would change a source file; with --fix, changes it.
#
# Tables (*.def) and kernel templates (*.hip) are laid out by hand. Exit code 77: clang-format 19 is not here.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

formatter=clang-format-19
if ! command -v "$formatter" >/dev/null; then
    say "skipped: $formatter is not installed"
    exit 77
fi
mapfile -t files < <(find runtime compiler cache plugin_api cli tests benchmarks \
    -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' | sort)
((${#files[@]} > 0)) || fail "found no files to check"
if [[ ${1-} == --fix ]]; then
    "$formatter" -i "${files[@]}"
    exit 0
fi
faults=0
for file in "${files[@]}"; do
    if ! "$formatter" "$file" | cmp -s - "$file"; then
        printf '%s: not as clang-format writes it\n' "$file"
        faults=$((faults + 1))
    fi
done
printf '%d files checked, %d faults\n' "${#files[@]}" "$faults"
((faults == 0)) || fail "run 'scripts/check_format.sh --fix'"
