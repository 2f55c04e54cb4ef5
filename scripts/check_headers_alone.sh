#!/usr/bin/env bash
# Fails when a header does not compile by itself (in C, and in C++ where it says extern "C").
#
# usage: check_headers_alone.sh [CC]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

cc=${1:-cc}
flags=(-I. -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror)

# Prints the header when it fails, nothing when it passes.
check_header() {
    local header=$1
    if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$cc" -std=gnu17 "${flags[@]}" -x c -; then
        printf '%s does not compile alone\n' "$header"
    fi
    if grep -q '__cplusplus' "$header"; then
        if ! printf '#include "%s"\n' "$header" | "$cc" -std=gnu++17 "${flags[@]}" -x c++ -; then
            printf '%s does not compile alone as C++\n' "$header"
        fi
    fi
}

# Headers of C++ files stay with them: what they need is made by the build.
headers=$(find runtime compiler cache plugin_api cli tests benchmarks -name '*.h' | sort)
checked=0
faults=0
for header in $headers; do
    checked=$((checked + 1))
    message=$(check_header "$header" 2>&1)
    if [[ -n $message ]]; then
        printf '%s\n' "$message"
        faults=$((faults + 1))
    fi
done
((checked > 0)) || fail "found no headers to check"
printf '%d headers checked, %d faults\n' "$checked" "$faults"
((faults == 0))
