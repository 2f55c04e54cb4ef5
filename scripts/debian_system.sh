# shellcheck shell=bash disable=SC2016 # the text in single quotes is for other programs to expand
# Debian systems of their own below build/, for the legs that test in them; sourced after common.sh, not run.
#
# Mounts live in a mount namespace of their own, so they are gone when a command ends, however it ends; nothing of this
# machine is mounted into a system. The mirror is the one that this machine's apt uses.

# Why no system can be made here; empty if one can.
system_obstacle() {
    if ((EUID != 0)); then
        echo "it needs root"
    elif ! command -v mmdebstrap >/dev/null; then
        echo "mmdebstrap is not installed"
    elif ! unshare --mount true 2>/dev/null; then
        echo "mount namespaces are not allowed here"
    elif [[ -z $(system_mirror) ]]; then
        echo "apt names no mirror; run 'apt-get update' first"
    fi
}

system_mirror() {
    local codename
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" "Component: main" \
        "Created-By: Packages" 2>/dev/null | sort -u | head -n 1
}

# system_make SUITE DIRECTORY: a system with apt and nothing else, unless it is there already. A temporary
# folder is renamed at the end, so that an interrupted run leaves no half of it.
system_make() {
    local suite=$1 directory=$2 partial=$2.partial apt_proxy
    [[ ! -x $directory/usr/bin/apt-get ]] || return 0
    rm -rf --one-file-system "$partial" "$directory"
    eval "$(apt-config shell apt_proxy Acquire::http::Proxy)"
    if [[ -n ${apt_proxy-} ]]; then
        export http_proxy=$apt_proxy
    fi
    heading "making a system of Debian $suite"
    quietly "$directory.log" mmdebstrap --mode=root --variant=apt --dpkgopt=force-unsafe-io "$suite" "$partial" \
        "$(system_mirror)" || return 1
    cp /etc/resolv.conf "$partial/etc/resolv.conf" 2>/dev/null || true
    mv "$partial" "$directory"
}

# system_run DIRECTORY COMMAND...: with mounts of its own and no environment except what is named here.
system_run() {
    unshare --mount --fork bash -euc '
        system=$1
        shift
        mount --make-rprivate /
        mount -t proc proc "$system/proc"
        mkdir -p "$system/dev/shm" "$system/dev/pts"
        mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
        ln -sf pts/ptmx "$system/dev/ptmx"
        exec chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            ${CI:+CI="$CI"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
            DEBIAN_FRONTEND=noninteractive KILN_JOBS="$KILN_JOBS" "$@"
    ' bash "$@"
}
