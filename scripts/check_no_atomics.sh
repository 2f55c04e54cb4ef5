#!/usr/bin/env bash
# Fails when a kernel could give other bits the second time: device code with atomic updates of memory, or with clocks.
#
# Work-groups run in any order, so sums that they add up atomically have any order too. Kernels merge parts in a fixed order
# instead (docs/decisions/0070-determinism-is-promised.md). Fences and their memory orders are allowed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

pattern='__(hip_|c11_)?atomic_|__sync_|atomic[A-Z]|\b(atom|red)\.(global|shared|async|add)|clock(64)?\(|memtime|memrealtime|readcyclecounter'
pattern+='|(global|flat|buffer|ds)_(atomic|add)|globaltimer'
mapfile -t files < <(find kernels_templates compiler/emit compiler/families -type f \
    \( -name '*.[ch]' -o -name '*.hip' -o -name '*.def' \) | sort)
((${#files[@]} > 0)) || fail "found no files to check"
faults=0
while IFS= read -r line; do
    printf '%s\n' "$line"
    faults=$((faults + 1))
done < <(grep -nHE "$pattern" "${files[@]}")
printf '%d files checked, %d faults\n' "${#files[@]}" "$faults"
((faults == 0))
