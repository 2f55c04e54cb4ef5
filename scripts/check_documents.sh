#!/usr/bin/env bash
# Fails when a link in a Markdown file leads nowhere, when docs/images has a file that no document shows, or when
# docs/ARCHITECTURE.md does not list a decision.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    mapfile -t files < <(git ls-files '*.md')
else
    mapfile -t files < <(find . -path ./build -prune -o -name '*.md' -print)
fi
((${#files[@]} > 0)) || fail "found no documents to check"

# Prints the anchors of a document's headings.
anchors() {
    sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9_ -]//g; s/ /-/g'
}

faults=0 links=0 shown=' '
while IFS=: read -r file line link; do
    link=${link#](}
    link=${link%)}
    [[ $link == http*:* || $link == mailto:* ]] && continue
    links=$((links + 1))
    target=$file
    [[ $link == '#'* ]] || target=$(dirname "$file")/${link%%#*}
    shown+="$(basename "$target") "
    if [[ ! -e $target ]]; then
        printf '%s:%s: there is no %s\n' "$file" "$line" "$link"
        faults=$((faults + 1))
    elif [[ $link == *'#'* && $target == *.md ]] && ! grep -qxF -- "${link#*#}" <(anchors "$target"); then
        printf '%s:%s: %s has no heading for #%s\n' "$file" "$line" "$target" "${link#*#}"
        faults=$((faults + 1))
    fi
done < <(grep -HnoE '\]\([^) ]+\)' "${files[@]}")

for image in docs/images/*; do
    if [[ $shown != *" $(basename "$image") "* ]]; then
        printf '%s: no document shows it\n' "$image"
        faults=$((faults + 1))
    fi
done
for decision in docs/decisions/*.md; do
    if ! grep -qF -- "(decisions/$(basename "$decision"))" docs/ARCHITECTURE.md; then
        printf '%s: docs/ARCHITECTURE.md does not list it\n' "$decision"
        faults=$((faults + 1))
    fi
done
printf '%d links in %d documents checked\n' "$links" "${#files[@]}"
((faults == 0)) || fail "documents with faults (above)"
