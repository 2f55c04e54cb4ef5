#!/usr/bin/env bash
# Fails when a sentence that Kiln prints has a number in quotes: quotes are for names.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

folders=(cli runtime compiler cache plugin_api)
number="'%[-0-9.]*(hh|h|ll|l|z|j)?[diu]'|'%\" PRI[diu](32|64) \"'"
if grep -rnE --include='*.c' --include='*.cc' --include='*.h' -- "$number" "${folders[@]}"; then
    fail "numbers in quotes (above)"
fi
printf 'no numbers in quotes\n'
