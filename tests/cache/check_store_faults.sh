#!/usr/bin/env bash
# Fails when the store calls a function of libc that touches files and that store_faults.def has no row for, so that
# fault_wrappers.c cannot make it fail.
#
# usage: check_store_faults.sh NM libkiln_cache.a libkiln_support.a
set -euo pipefail
nm=$1 cache=$2 support=$3
table=$(dirname "${BASH_SOURCE[0]}")/store_faults.def

# What libc has for files, in the spellings of fcntl.h, unistd.h, sys/stat.h, dirent.h, stdio.h, sys/mman.h and others.
known='open openat open64 openat64 creat fopen freopen fdopen opendir fdopendir readdir readdir_r rewinddir closedir scandir
scandirat ftw nftw fts_open glob stat lstat fstat fstatat statx access faccessat euidaccess eaccess read pread readv preadv
preadv2 write pwrite writev pwritev pwritev2 sendfile copy_file_range splice close close_range dup dup2 dup3 lseek ftruncate
truncate fallocate posix_fallocate posix_fadvise fsync fdatasync syncfs sync_file_range rename renameat renameat2 link linkat
symlink symlinkat readlink readlinkat unlink unlinkat remove rmdir mkdir mkdirat mkdtemp mkstemp mkostemp tmpfile mknod
mknodat mkfifo mkfifoat chmod fchmod fchmodat chown fchown fchownat lchown utime utimes futimes lutimes futimesat futimens
utimensat mmap munmap msync mremap flock lockf statfs fstatfs statvfs fstatvfs fread fwrite fgets fgetc getline getdelim
fputs fputc fprintf fflush fclose fseek ftell chdir fchdir chroot realpath canonicalize_file_name inotify_add_watch
setxattr getxattr fsetxattr fgetxattr name_to_handle_at open_by_handle_at fcntl ioctl syscall'

# Members that are no part of the store's way to its files: the shared tier has tests of its own with servers that fail,
# a claim decides nothing, and of the support library only these are called for files.
mapfile -t members < <("$nm" -A -u "$cache" | sed -E 's/^[^:]*:([^:]*):.*/\1/' | sort -u |
    grep -vE '^(remote_|host_resolver|circuit_breaker|compile_claim|object_table)')
((${#members[@]} > 5)) || {
    echo "found no members in '$cache'" >&2
    exit 1
}
wrapped=$(sed -nE 's/^WRAPPED\([a-z_]+, ([a-z0-9_]+),.*/\1/p; s/^WRAPPED_(TRANSFER|OPEN)\(([a-z0-9_]+),.*/\2/p' "$table")

faults=0
checked=0
check() {
    local archive=$1 member=$2 name base
    while read -r name; do
        # Spellings of fortified and large-file builds: __open64_2, __read_chk, fstat64.
        base=$(sed -E 's/@.*//; s/^__(.*)_(chk|2)$/\1/; s/64$//' <<<"$name")
        if grep -qwF -- "$base" <<<"$known"; then
            checked=$((checked + 1))
            if ! grep -qxF -- "$base" <<<"$wrapped"; then
                echo "$member calls '$name', which store_faults.def has no row for" >&2
                faults=$((faults + 1))
            fi
        fi
    done < <("$nm" -A -u "$archive" | sed -nE "s/^[^:]*:$member:.* U ([^ ]+).*/\1/p")
}
for member in "${members[@]}"; do
    check "$cache" "$member"
done
for member in file.c.o temporary_file.c.o temporary_name.c.o; do
    check "$support" "$member"
done
echo "$checked calls checked, $faults faults"
((checked > 20 && faults == 0))
