#!/usr/bin/env bash
# Fails when parts of compiler/, or headers of it, include each other in a circle.
#
# A part is a folder, a pair of files directly in compiler/, or a pair that is a library of its own. Tables (.def) are no
# part: they include nothing. In the folders of `middle`, pairs of files are parts too.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

middle=(compiler/ir compiler/fuse compiler/schedule compiler/families compiler/emit compiler/plan)
libraries="compiler/graph/graph compiler/reference/convert compiler/reference/round_up compiler/codegen/target compiler/codegen/product"

# FILE INCLUDED, one per line, without the tables.
includes() {
    grep -rhoE --include='*.[ch]' --include='*.cc' --include='*.hpp' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"compiler/[^"]+' \
        --with-filename "$@" | sed -E 's/:[^"]*"/ /' | grep -v '\.def$'
}

# The part of each file on standard input, FILE INCLUDED again.
parts() {
    awk -v libraries="$libraries" '
        BEGIN { count = split(libraries, list, " "); for (i = 1; i <= count; i++) own[list[i]] = 1 }
        function part(file,   pair) {
            pair = file
            sub(/\.[a-z]+$/, "", pair)
            if (pair in own || pair !~ /^compiler\/.*\//) return pair
            sub(/\/[^\/]*$/, "", file)
            return file
        }
        { a = part($1); b = part($2); if (a != b) print a, b }'
}

pairs() {
    sed -E 's/\.[a-z]+( |$)/\1/g' | awk '$1 != $2'
}

faults=0

# Reads edges; prints the circle if there is one.
expect_no_circle() {
    local what=$1 text
    text=$(sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //' || true)
    if [[ -n $text ]]; then
        printf '%s include each other in a circle:\n%s\n' "$what" "$text"
        faults=$((faults + 1))
    fi
}

expect_no_circle "parts of compiler" < <(includes compiler | parts)
expect_no_circle "headers of compiler" < <(includes compiler | grep -E '^[^ ]+\.h(pp)? ')
expect_no_circle "pairs of files of the middle" < <(includes "${middle[@]}" | pairs)

printf '%d circles of includes\n' "$faults"
((faults == 0))
