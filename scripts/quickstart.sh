#!/usr/bin/env bash
# Sixty seconds to a result: builds Kiln, compiles the sample graphs for several GPUs and for the host, runs them on
# the host device and checks every output element. A second run is warm: it starts no compiler.
#
# usage: quickstart.sh [--targets LIST]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$kiln_root"

targets=gfx90a,gfx1030,gfx942,gfx1100,gfx1201,host
case ${1-} in
'') ;;
--targets) targets=${2:?"--targets needs a list"} ;;
*) fail "unknown option '$1'" ;;
esac

bash scripts/install_packages.sh

heading "build (build/release)"
mkdir -p build
quietly build/release-configure.log cmake --preset release
cmake --build build/release -j "$kiln_jobs" -- --quiet
kiln=$kiln_root/build/release/cli/kiln
cache=$kiln_root/build/quickstart-cache

heading "what can be compiled here, and by what"
"$kiln" targets

heading "compile the sample graphs (cache: build/quickstart-cache)"
log=build/quickstart-compile.log
: >"$log"
code=0
"$kiln" compile --target "$targets" --cache "$cache" -j "$kiln_jobs" samples | tee "$log" || code=$?

heading "what is fused: samples/current/bias_gelu_fp16.json"
"$kiln" explain --cache "$cache" samples/current/bias_gelu_fp16.json

heading "run on the host device, every output element checked against the reference"
graphs=0
wrong=0
for graph in samples/*/*.json; do
    graphs=$((graphs + 1))
    output=$("$kiln" run "$graph" --device host --verify --cache "$cache" 2>&1) && verdict=right || verdict=WRONG
    printf '%-6s %s\n' "$verdict" "$graph"
    if [[ $verdict == WRONG ]]; then
        wrong=$((wrong + 1))
        printf '%s\n' "$output"
    fi
done

heading "summary"
"$kiln" cache stats --cache "$cache"
compiled=$(sed -nE 's/^([0-9]+) compiled, .*/\1/p' "$log" | tail -n 1)
if [[ $compiled == 0 ]]; then
    echo "warm: every program came from the cache, no compiler was started"
else
    echo "cold: ${compiled:-no} programs were compiled; a second run takes all of them from the cache"
fi
printf '%d of %d graphs right on the host device\n' $((graphs - wrong)) "$graphs"
if ((code != 0)); then
    say "not every graph was compiled for every target (above)"
fi
((wrong == 0 && code == 0))
