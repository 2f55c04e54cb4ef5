#!/usr/bin/env bash
# Fails when a script of this folder does more than print its help for --help.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root/scripts"

faults=0
for script in *.sh; do
    head -n 1 "$script" | grep -q '^#!' && grep -q 'common\.sh' "$script" || continue
    help=$(bash "$script" --help </dev/null)
    expected=$(sed -n '2s/^# //p' "$script")
    if [[ ${help%%$'\n'*} != "$expected" ]]; then
        say "$script --help: ${help%%$'\n'*}"
        faults=$((faults + 1))
    fi
done
((faults == 0)) || fail "scripts without help (above)"
