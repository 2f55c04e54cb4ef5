#!/usr/bin/env bash
# Fails when a file includes a part of the project that its own part may not know (docs/ARCHITECTURE.md).
#
# The rules, first match wins: folder, then what its files may include. Quoted includes are always
# "folder/.../file" from the project's top folder; anything else in quotes is a fault too, except headers that the
# build makes. Templates are compiled apart from the project: their top folder is kernels_templates.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

rules=(
    "runtime/support:   runtime/support"
    "runtime/device:    runtime/device runtime/support compiler kernels_templates/device/host_abi.h"
    "runtime/engine:    runtime compiler cache"
    "compiler/fuse:     compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel_family compiler/program.h compiler/dtype runtime/support"
    "compiler/schedule: compiler/schedule compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel_family compiler/program.h compiler/dtype runtime/support"
    "compiler/emit:     compiler/emit compiler/schedule compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel_family compiler/program.h compiler/dtype runtime/support"
    "compiler:          compiler runtime/support"
    "cache:             cache runtime/support"
    "plugin_api:        plugin_api runtime compiler/graph compiler/program.h compiler/dtype"
    "kernels_templates:"
    "cli:               cli runtime compiler cache plugin_api/hipdnn_plugin_abi plugin_api/plugin_functions plugin_api/engine_identity"
)

faults=0
checked=0

allowed() {
    local file=$1 include=$2 rule
    for rule in "${rules[@]}"; do
        if [[ $file == "${rule%%:*}"/* ]]; then
            local part
            for part in ${rule#*:}; do
                [[ $include == "$part"/* || $include == "$part" || $include == "$part".* ]] && return 0
            done
            return 1
        fi
    done
    return 0
}

while IFS=: read -r file line text; do
    include=${text#*\"}
    include=${include%%\"*}
    checked=$((checked + 1))
    [[ $include == *_generated.h || $include == hipdnn_schema_texts.h ]] && continue
    if [[ $file == kernels_templates/* ]]; then
        # What is not there would be looked for elsewhere.
        [[ -e kernels_templates/$include ]] && continue
    fi
    if ! allowed "$file" "$include"; then
        printf '%s:%s: may not include "%s"\n' "$file" "$line" "$include"
        faults=$((faults + 1))
    fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' --include='*.cc' --include='*.cpp' \
    --include='*.hip' --include='*.def' runtime compiler cache plugin_api kernels_templates cli)

# Templates include no header of a vendor: the device headers beside them give all they need.
while IFS=: read -r file line text; do
    printf '%s:%s: templates include no vendor headers: %s\n' "$file" "$line" "$text"
    faults=$((faults + 1))
done < <(grep -rnE '#[[:space:]]*include[[:space:]]*<(hip|cuda|amd)' kernels_templates)

# Which family a kernel has is tested in the family's own files alone: others ask its functions.
while IFS=: read -r file line text; do
    printf '%s:%s: tests for a family of kernels outside of it: %s\n' "$file" "$line" "$text"
    faults=$((faults + 1))
done < <(grep -rnE '[!=]= KILN_FAMILY_|case KILN_FAMILY_' --include='*.[ch]' compiler runtime cli plugin_api |
    grep -vE '^[^:]*(pointwise|reduction|contraction)[^:/]*:' || true)

# The lowest part stands on libc and POSIX alone, apart from the hash it wraps.
while IFS=: read -r file line text; do
    printf '%s:%s: runtime/support may include libc only: %s\n' "$file" "$line" "$text"
    faults=$((faults + 1))
done < <(grep -rnE '#[[:space:]]*include[[:space:]]*<(hip|amd_comgr|flatbuffers|llvm|jansson|criterion)' runtime/support)

((checked > 0)) || fail "found no includes to check"
printf '%d includes checked, %d faults\n' "$checked" "$faults"
((faults == 0))
