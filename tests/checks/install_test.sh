#!/usr/bin/env bash
# Installs a build into a fresh prefix and uses it from there: the plugin's file and symbols, the CMake package, the
# pkg-config file, the program and its compile worker.
#
# usage: install_test.sh CMAKE BUILD_DIRECTORY CONSUMER_DIRECTORY
set -euo pipefail

cmake=$1 build=$2 consumer=$3
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
prefix=$temporary/prefix

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

"$cmake" --install "$build" --prefix "$prefix" >"$temporary/install.log" || fail "$(cat "$temporary/install.log")"

# hipDNN resolves links before it looks at the extension: the plugin has to be a regular file.
mapfile -t plugins < <(find "$prefix" -path '*/hipdnn_plugins/engines/*')
[[ ${#plugins[@]} == 1 ]] || fail "expected one file in hipdnn_plugins/engines, found ${plugins[*]:-none}"
plugin=${plugins[0]}
[[ -f $plugin && ! -L $plugin && $plugin == *.so ]] || fail "'$plugin' is not a regular .so file"

exported=$(nm --dynamic --defined-only --format=posix "$plugin" | cut -d' ' -f1 | sed 's/@.*//')
grep -qx hipdnnEnginePluginExecuteOpGraph <<<"$exported" || fail "the plugin API is not exported"
foreign=$(grep -v '^hipdnn' <<<"$exported" || true)
[[ -z $foreign ]] || fail "exported beside the plugin API: $foreign"
for file in "$plugin" "$prefix/bin/kiln" "$prefix/libexec/kiln/kiln-compile"; do
    if ldd "$file" | grep -iE 'llvm|comgr|amdhip|cuda|nvrtc'; then
        fail "'$file' is linked with a compiler, HIP or CUDA"
    fi
done

"$prefix/bin/kiln" version
[[ -x $prefix/libexec/kiln/kiln-compile ]] || fail "no worker in libexec/kiln"

if ! { "$cmake" -S "$consumer" -B "$temporary/consumer" -DCMAKE_PREFIX_PATH="$prefix" &&
    "$cmake" --build "$temporary/consumer"; } >"$temporary/consumer.log" 2>&1; then
    fail "$(cat "$temporary/consumer.log")"
fi
"$temporary/consumer/consumer"

for file in share/doc/kiln/{LICENSE,README.md,CHANGELOG.md,docs/ARCHITECTURE.md} share/kiln/samples/current/bias_gelu_fp16.json \
            share/man/man1/kiln.1 share/bash-completion/completions/kiln share/zsh/site-functions/_kiln \
            share/fish/vendor_completions.d/kiln.fish; do
    [[ -s $prefix/$file ]] || fail "'$file' is not installed"
done

# The package can be moved: paths are found from the files' own place.
mv "$prefix" "$temporary/moved"
pc=$(find "$temporary/moved" -name kiln.pc)
moved_plugin=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable=plugin kiln)
[[ -f $moved_plugin ]] || fail "pkg-config names '$moved_plugin', which is not there"

# The worker is found from the program's place, not from where it was built.
graph=$(dirname "${BASH_SOURCE[0]}")/../../samples/current/bias_gelu_fp16.json
env -u KILN_COMPILE_WORKER "$temporary/moved/bin/kiln" run "$graph" --device host --verify \
    --cache "$temporary/cache"

# So is the system's layer of the cache: there, kernels need no compiler.
mkdir -p "$temporary/moved/share/kiln"
mv "$temporary/cache" "$temporary/moved/share/kiln/cache"
KILN_ENFORCE_PRECOMPILED=1 "$temporary/moved/bin/kiln" run "$graph" --device host --verify --cache "$temporary/empty"
