# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder; sourced, not run. Sets kiln_root to the project's top folder.

kiln_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

kiln_jobs=${KILN_JOBS:-$(nproc)}

# --help prints the comment at the top of the script.
case ${1-} in
--help | -h)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

say() {
    printf '%s\n' "$*" >&2
}

# A heading that stands out in a long log.
heading() {
    printf '\n==== %s\n' "$*" >&2
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Runs a command with its output in a file; prints the file only when the command fails.
quietly() {
    local log=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        say "failed: $*"
        return 1
    fi
}
