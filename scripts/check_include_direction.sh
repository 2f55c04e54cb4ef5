#!/usr/bin/env bash
# Fails when a file includes a part of the project that its own part may not know (docs/ARCHITECTURE.md).
#
# The rules, first match wins: folder, then what its files may include. Quoted includes are always
# "folder/.../file" from the project's top folder; anything else in quotes is a fault too, except headers that the
# build makes. Templates are compiled apart from the project: their top folder is kernels_templates.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

rooms() {
    sed -nE 's/^KILN_FAMILY\([A-Z_]+, ([a-z_]+),.*/\1/p' compiler/kernel_family.def
}

# Folders that a room of compiler/families may include in addition to itself and the rooms of earlier rows.
shared="compiler/plan/plan_family.h compiler/emit compiler/schedule compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel compiler/kernel_family compiler/lower_options compiler/dtype runtime/support"

rules=(
    "runtime/support:   runtime/support"
    "runtime/device:    runtime/device runtime/support compiler kernels_templates/device/host_abi.h"
    "runtime/engine:    runtime compiler cache"
    "compiler/fuse:     compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel compiler/kernel_family compiler/lower_options compiler/dtype runtime/support"
    "compiler/schedule: compiler/schedule compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel compiler/kernel_family compiler/lower_options compiler/dtype runtime/support"
    "compiler/plan:     compiler/plan compiler/schedule compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel compiler/kernel_family compiler/lower_options compiler/dtype runtime/support"
    "compiler/emit:     compiler/emit compiler/schedule compiler/fuse compiler/ir compiler/graph compiler/codegen/target.h compiler/kernel compiler/kernel_family compiler/lower_options compiler/dtype runtime/support"
    "compiler:          compiler runtime/support"
    "cache:             cache runtime/support"
    "plugin_api:        plugin_api runtime compiler/graph compiler/dtype"
    "kernels_templates:"
    "cli:               cli runtime compiler cache plugin_api/hipdnn_plugin_abi plugin_api/plugin_functions plugin_api/engine_identity"
)

# A room may include only the rooms of rows above its own in kernel_family.def, except the first row's room.
# Inside a room, fuse/ stands before schedule/, and schedule/ before emit/.
below=""
while read -r room; do
    home=compiler/families/$room
    rules=("$home/fuse: $home/fuse $below $shared" "$home/schedule: $home/fuse $home/schedule $below $shared"
        "$home: $home $below $shared" "${rules[@]}")
    [[ -d compiler/families/$room ]] || fail "compiler/kernel_family.def: no room compiler/families/$room"
    [[ $room == "$(rooms | head -1)" ]] || below+=" compiler/families/$room"
done < <(rooms)
for folder in compiler/families/*/; do
    rooms | grep -qx "$(basename "$folder")" || fail "$folder: no row in compiler/kernel_family.def"
done

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
    grep -v "^compiler/families/\|KILN_FAMILY_FIRST" || true)

# The lowest part stands on libc and POSIX alone, apart from the hash it wraps.
while IFS=: read -r file line text; do
    printf '%s:%s: runtime/support may include libc only: %s\n' "$file" "$line" "$text"
    faults=$((faults + 1))
done < <(grep -rnE '#[[:space:]]*include[[:space:]]*<(hip|amd_comgr|flatbuffers|llvm|jansson|criterion)' runtime/support)

# No headers include each other in a circle.
while IFS= read -r text; do
    printf '%s\n' "${text/tsort: -:/headers:}"
    faults=$((faults + 1))
done < <(grep -rHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' runtime compiler cache plugin_api cli |
    sed -E 's/^([^:]+):[^"]*"([^"]+)".*/\1 \2/' | tsort 2>&1 >/dev/null | sed 's/^tsort: //')

((checked > 0)) || fail "found no includes to check"
printf '%d includes checked, %d faults\n' "$checked" "$faults"
((faults == 0))
