#!/usr/bin/env bash
# The hardware suite can fail: faults planted into kernels, between Kiln and the compiler, are found. For a HIP library that
# checks memory accesses, and a target that clang compiles for.
#
# usage: planted_faults_test.sh SHAPES_TEST
set -euo pipefail

shapes_test=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

# A compiler that edits what it reads from standard input, where kernels come from. Its environment is not this one's.
cat >"$work/clang-19" <<'SCRIPT'
#!/usr/bin/env bash
if [[ " $* " == *" - "* ]]; then
    sed -f "${BASH_SOURCE[0]%/*}/fault.sed" | exec clang-19 "$@"
else
    exec clang-19 "$@"
fi
SCRIPT
chmod +x "$work/clang-19"

# expect CODE TEXT FAULT: some graphs with rows that are no whole number of vectors.
expect() {
    local code=0 output
    echo "$3" >"$work/fault.sed"
    output=$(KILN_CLANG=$work/clang-19 KILN_CACHE_DIR='' KILN_CACHE_LAYERS='' "$shapes_test" --share 1/24 2>&1) ||
        code=$?
    ((code == $1)) || fail "exit code $code instead of $1 with '$3': $output"
    [[ $output == *"$2"* ]] || fail "'$2' is not in what '$3' led to: $output"
}

tail='tail.column < (kiln_index)(KILN_COLS)'
expect 0 "0 failed" "s/$tail/$tail/"
expect 1 "elements wrong" "s/$tail/tail.column + 1 < (kiln_index)(KILN_COLS)/"
expect 1 "illegal memory access" "s/$tail/tail.column <= (kiln_index)(KILN_COLS)/"
echo "passed: a kernel that leaves out elements and one that reads and writes beyond its rows were found"
