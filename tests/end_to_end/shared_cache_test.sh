#!/usr/bin/env bash
# Two processes with empty caches of their own and one Redis server: the second compiles nothing. Then a server that is killed
# while a process is at it, one that is away, and one that hangs: nothing fails, and what the server
# lacks is counted.
#
# usage: shared_cache_test.sh KILN WORK_DIR GRAPHS
#
# Exit code 77: there is no redis-server.
set -euo pipefail

kiln=$1 work=$2
# Every third graph: the test is about the server, and compiles each graph five times.
mapfile -t graphs < <(find "$3" -name '*.json' | sort | awk 'NR % 3 == 1')
for program in redis-server redis-cli; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not installed"
        exit 77
    }
done
rm -rf "$work"
mkdir -p "$work"
server=
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

ask() {
    REDISCLI_AUTH=secret redis-cli -h 127.0.0.1 -p "$port" "$@" 2>/dev/null
}

# On a port that is free; the server ends with this script, however that ends.
start_server() {
    for _ in {1..20}; do
        port=$((20000 + RANDOM % 40000))
        setpriv --pdeathsig KILL redis-server --port "$port" --bind 127.0.0.1 --requirepass secret --save '' \
            --appendonly no --dir / >"$work/server.log" 2>&1 &
        server=$!
        for _ in {1..300}; do
            [[ $(ask ping) == PONG ]] && return
            kill -0 "$server" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    fail "redis-server does not start: $(tail -n 3 "$work/server.log")"
}

kill_server() {
    kill -KILL "$server"
    wait "$server" 2>/dev/null || true
    server=
}

# compile NAME [OPTION...]: all graphs for the host device, with the cache of that name; NAME.json and NAME.log are left.
compile() {
    local name=$1
    shift
    KILN_CACHE_REMOTE=$url KILN_LOG_LEVEL=info "$kiln" compile --target host --cache "$work/$name" --json -v "$@" "${graphs[@]}" \
        >"$work/$name.json" 2>"$work/$name.log"
}

# The same where the server does not take everything: a warning says so.
compile_unshared() {
    compile "$@" || fail "$1: $(tail -n 3 "$work/$1.log")"
    grep -q "did not take [0-9]* entr" "$work/$1.log" || fail "$1: nobody was told what the server lacks"
}

# count NAME OUTCOME
count() {
    grep -c "\"outcome\": \"$2\"" "$work/$1.json" || true
}

start_server
# No time-out that a busy machine could exceed, except where the server does not answer.
url="redis://:secret@127.0.0.1:$port/1?timeout=60000"
compile first || fail "the first process: $(tail -n 3 "$work/first.log")"
total=$(count first compiled)
((total >= 10)) || fail "only $total graphs were compiled"
((total == $(grep -c '"outcome"' "$work/first.json"))) || fail "the first process did not compile every graph"
stored=$(ask -n 1 dbsize)
((stored >= total)) || fail "the server has $stored of $total"

compile second || fail "the second process: $(tail -n 3 "$work/second.log")"
(($(count second compiled) == 0)) || fail "the second process compiled $(count second compiled) of $total graphs"
(($(count second disk) == total)) || fail "the second process took $(count second disk) of $total from a cache"
url= compile second || fail "the second process without the server"
(($(count second disk) == total)) || fail "what the server had is not in the second process's own cache"
echo "$total graphs: the second process compiled none"

# The bytes of every value are damaged: all are compiled, and the good ones take their place.
for key in $(ask -n 1 --scan); do
    ask -n 1 setrange "$key" 100 "damage" >/dev/null
done
compile damaged || fail "with damaged values: $(tail -n 3 "$work/damaged.log")"
(($(count damaged compiled) == total)) || fail "$(count damaged disk) damaged values were taken"
grep -q "is not used: its checksum" "$work/damaged.log" || fail "nobody was told of the damage"

# Killed with many graphs done and many to do.
ask -n 1 flushdb >/dev/null
compile_unshared killed -j 1 &
process=$!
for _ in {1..6000}; do
    (($(ask -n 1 dbsize) >= 3)) && break
    sleep 0.01
done
kill_server
wait "$process" || fail "with the server killed: $(tail -n 3 "$work/killed.log")"
(($(count killed compiled) == total)) || fail "with the server killed $(count killed compiled) of $total were compiled"
(($(grep -c "is not asked for" "$work/killed.log") >= 1)) || fail "the server was killed after the last graph"
echo "killed in the middle: $total graphs compiled"

compile_unshared away
(($(count away compiled) == total)) || fail "without a server $(count away compiled) of $total were compiled"

start_server
kill -STOP "$server"
url="redis://:secret@127.0.0.1:$port/1"
compile_unshared hung
(($(count hung compiled) == total)) || fail "with a server that hangs $(count hung compiled) of $total were compiled"
grep -q "in time" "$work/hung.log" || fail "nobody was told that the server hangs"

! grep -rq secret "$work" --include='*.log' --include='*.json' || fail "the password was logged"
echo "passed"
