#!/usr/bin/env bash
# Fails when code that all families of kernels share names one of them (compiler/kernel_family.def).
#
# Shared: compiler/fuse, schedule, emit and plan, and the .c and .h files of compiler/ itself. Code and comments there must not
# contain the name of a family's room or a term of its own, and must not include compiler/families. Facts of one family belong
# to its room. Shared code gets them through hooks and data of the family (docs/adding-a-family.md).
#
# Allowed: the table of families, the callers' options (lower_options), which name what users force, names of IR passes and
# of files of the IR, and names of nodes of the graph (KILN_NODE_*).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

mapfile -t names < <(sed -nE 's/^KILN_FAMILY\([A-Z_]+, ([a-z_]+),.*/\1/p' compiler/kernel_family.def)
((${#names[@]} > 0)) || fail "found no families in compiler/kernel_family.def"
# Words of the families' trade. REDUCE, reduced axes, products and rows are words of the IR.
words=("${names[@]}" contract attend score softmax convolution matmul pooling)
pattern=$(IFS='|'; printf '%s' "${words[*]}")

mapfile -t files < <(find compiler/fuse compiler/schedule compiler/emit compiler/plan compiler -maxdepth 1 -type f \
    \( -name '*.[ch]' -o -name '*.def' \) ! -name 'kernel_family.*' ! -name 'lower_options.*' | sort -u)
((${#files[@]} > 0)) || fail "found no files to check"

faults=0
while IFS=: read -r file line text; do
    printf '%s:%s: names a family of kernels: %s\n' "$file" "$line" "$text"
    faults=$((faults + 1))
done < <(grep -nHEi "$pattern|\"compiler/families/" "${files[@]}" |
    awk -F: -v pattern="$pattern|\"compiler/families/" '{
        text = $0
        sub(/^[^:]*:[^:]*:/, "", text)
        gsub(/kiln_ir_[a-z_]+|kiln_node_is_[a-z_]+|KILN_NODE_[A-Z_]+|kiln_missed_[a-z_]+|compiler\/ir\/[a-z_]+/, "", text)
        if (tolower(text) ~ pattern) print
    }')

printf '%d files checked for %d words, %d faults\n' "${#files[@]}" "${#words[@]}" "$faults"
((faults == 0))
