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
# Many files to a process: most of a small file's time is the start of the formatter.
mapfile -t faulty < <(printf '%s\0' "${files[@]}" |
    { xargs -0 -n 50 -P "$kiln_jobs" "$formatter" --dry-run -Werror 2>&1 || true; } |
    sed -nE 's/^(.*):[0-9]+:[0-9]+: error: code should be clang-formatted.*/\1/p' | sort -u)
((${#faulty[@]} == 0)) || printf '%s: not as clang-format writes it\n' "${faulty[@]}"
printf '%d files checked, %d faults\n' "${#files[@]}" "${#faulty[@]}"
((${#faulty[@]} == 0)) || fail "run 'scripts/check_format.sh --fix'"
