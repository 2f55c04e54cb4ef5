#!/usr/bin/env bash
# usage: build_version_test.sh CMAKE SOURCE
# The commit in a build's version: of a clone, of changed sources, of an archive, of none.
set -euo pipefail
command -v git > /dev/null || exit 77
cmake=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

# expect TREE VERSION: what the version's text is in this tree
expect() {
    "$cmake" -D VERSION=1.2.3 -D SOURCE="$1" -D OUTPUT="$folder/version.c" -P "$source/cmake/build_version.cmake"
    grep -qF ".text = \"$2\"" "$folder/version.c" || {
        echo "the version of '$1' is not '$2':"
        cat "$folder/version.c"
        exit 1
    }
}

clone=$folder/clone
mkdir -p "$clone/cmake"
cp "$source/.gitattributes" "$clone"
cp "$source/cmake/archive_commit.txt" "$clone/cmake"
git -C "$clone" init -q
expect "$clone" 1.2.3 # no commit yet
git -C "$clone" add -A
git -C "$clone" commit -qm one
commit=$(git -C "$clone" rev-parse --short=12 HEAD)
expect "$clone" "1.2.3+$commit"
grep -q "is_modified = false" "$folder/version.c"
git -C "$clone" tag -a -m tag v1.2.3
expect "$clone" "1.2.3+$commit"

# An equal version leaves the file alone, so that no build has to compile it again.
touch -d 2001-01-01 "$folder/version.c"
expect "$clone" "1.2.3+$commit"
[[ $(stat -c %Y "$folder/version.c") -lt 1000000000 ]] || { echo "an equal version was written again"; exit 1; }

echo "# changed" >> "$clone/.gitattributes"
expect "$clone" "1.2.3+$commit.dirty"
grep -q "is_modified = true" "$folder/version.c"
git -C "$clone" checkout -q .gitattributes

# An archive knows its commit, also where it lies in another project's clone; plain copies know none.
mkdir "$clone/archive" "$clone/copy"
git -C "$clone" archive HEAD | tar -x -C "$clone/archive"
expect "$clone/archive" "1.2.3+$commit"
cp -r "$clone/cmake" "$clone/copy"
expect "$clone/copy" 1.2.3
