#!/usr/bin/env bash
# A test leg: builds the packages as a release does, without anything that only tests need, and uses them in bare systems.
#
#   this machine   the preset release with no package of the tests visible, cpack, what the packages declare, lib64
#   Debian 12      the .deb with the compilers that it recommends: doctor, samples on the host device
#   Debian 13      the same in the system of test_in_chroot.sh, if that is there
#   Debian 13      the .tar.gz without any compiler, and a pack that clang made: samples through the plugin on an emulated
#                  gfx942, as in docs/containers.md
#
# usage: test_packages.sh [--long]
#   --long  all samples on the host device too, and all shared graphs of the emulated GPU
#
# Programs of the first leg (build/dev), the emulator that the hardware suite has built, and ../shared/graphs are used where
# they are. Exit codes: 0 passed, 1 failed, 77 skipped with the reason.
# shellcheck disable=SC2016 # the text in single quotes is for other programs to expand
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/debian_system.sh"

build=$kiln_root/build/release
out=$kiln_root/build/packages
target=gfx942
emulator=${HIP_SUITE_EMULATOR_BUILD-$kiln_root/build/emulator}
driver=$kiln_root/build/dev/tests/plugin_api
graphs=$kiln_root/../shared/graphs
graph_share=64
sample_share=9
case ${1-} in
'') ;;
--long) graph_share=1 sample_share=1 ;;
*) fail "unknown option '$1'" ;;
esac
export KILN_JOBS=$kiln_jobs
steps=0

step() {
    steps=$((steps + 1))
    heading "packages: $*"
}

# every N FILE...: each N-th of the files, a line each.
every() {
    local n=$1
    shift
    printf '%s\n' "$@" | awk -v n="$n" 'NR % n == 1 || n == 1'
}

# pkg-config and CMake find neither Criterion nor a benchmark's library.
build_without_tests() {
    local empty=$out/no-tests path
    mkdir -p "$empty"
    path=$(pkg-config --variable pc_path pkg-config)
    local directory file
    for directory in ${path//:/ }; do
        for file in "$directory"/*.pc; do
            [[ $file == */criterion.pc || ! -e $file ]] || ln -sf "$file" "$empty/"
        done
    done
    cd "$kiln_root"
    # -U: a run that ended in check_lib64 has left its library directory.
    PKG_CONFIG_LIBDIR=$empty quietly build/release-configure.log cmake --preset release -U CMAKE_INSTALL_LIBDIR -DKILN_WERROR=ON
    cmake --build "$build" -j "$kiln_jobs" -- --quiet
}

make_packages() {
    rm -rf "$build/packages"
    (cd "$build" && quietly "$out/cpack.log" cpack)
    deb=$(echo "$build"/packages/*.deb)
    archive=$(echo "$build"/packages/*.tar.gz)
    [[ -f $deb && -f $archive ]] || fail "cpack made no .deb or no .tar.gz"
}

# The checks that Debian's lintian would start with.
check_packages() {
    local fields listing file
    fields=$(dpkg-deb --field "$deb")
    for file in 'Depends: libc6 (>= 2.34), libgcc-s1' 'Recommends: g++ | clang, libamd-comgr2'; do
        grep -qF "$file" <<<"$fields" || fail "the .deb has no '$file': $fields"
    done
    listing=$(dpkg-deb --contents "$deb")
    ! grep -vE ' root/root ' <<<"$listing" || fail "files of the .deb do not belong to root"
    ! grep -E '^.{5}w|^.{8}w' <<<"$listing" | grep -v '^l' || fail "others may write to files of the .deb"
    for file in bin/kiln libexec/kiln/kiln-compile lib/hipdnn_plugins/engines/kiln_plugin.so share/doc/kiln/copyright \
        share/doc/kiln/LICENSE share/doc/kiln/changelog.gz share/doc/kiln/docs/installing.md \
        share/kiln/samples/current/bias_gelu_fp16.json share/man/man1/kiln.1 share/bash-completion/completions/kiln \
        share/zsh/vendor-completions/_kiln share/fish/vendor_completions.d/kiln.fish; do
        grep -qE " \./usr/$file$" <<<"$listing" || fail "the .deb has no $file"
    done
    # Both have the same files.
    diff <(grep -v '/$' <<<"$listing" | sed 's|.* \./usr/||' | sort) \
        <(tar -tf "$archive" | grep -v '/$' | sed 's|^[^/]*/||' | sort) || fail "the packages differ"
    rm -rf "$out/tree"
    mkdir -p "$out/tree"
    tar -C "$out/tree" --strip-components=1 -xf "$archive"
    bash "$kiln_root/tests/checks/portable_binaries_test.sh" Release "$out"/tree/bin/kiln \
        "$out"/tree/libexec/kiln/kiln-compile "$out"/tree/lib/hipdnn_plugins/engines/kiln_plugin.so
}

# The same build installed for a hipDNN in lib64; the plugin finds its worker from there.
check_lib64() {
    rm -rf "${out:?}/lib64"
    cmake -S "$kiln_root" -B "$build" -DCMAKE_INSTALL_LIBDIR=lib64 >/dev/null
    cmake --build "$build" -j "$kiln_jobs" -- --quiet
    cmake --install "$build" --prefix "$out/lib64" >/dev/null
    cmake -S "$kiln_root" -B "$build" -U CMAKE_INSTALL_LIBDIR >/dev/null
    local plugin=$out/lib64/lib64/hipdnn_plugins/engines/kiln_plugin.so
    [[ -f $plugin ]] || fail "there is no '$plugin'"
    if [[ -x $driver/plugin_graphs_test ]]; then
        env -u KILN_COMPILE_WORKER KILN_CACHE_DIR="$out/lib64-cache" "$driver/plugin_graphs_test" host "$plugin" \
            "$kiln_root/samples/current/bias_gelu_fp16.json"
    fi
}

# A system as its makers have it, from a copy that is kept.
fresh_system() {
    local suite=$1
    local bare=$kiln_root/build/debian-$suite-bare
    system=$out/$suite
    rm -rf --one-file-system "$system"
    system_make "$suite" "$bare" || exit 1
    cp -a --reflink=auto "$bare" "$system"
    mkdir -p "$system/packages"
    cp "$deb" "$archive" "$system/packages"
}

inside() {
    system_run "$system" "$@"
}

# Checks that the plugin is linked into a hipDNN that is there already, and into one that comes later.
test_links() {
    mkdir -p "$system/opt/rocm-7.0.0/lib"
    ln -s rocm-7.0.0 "$system/opt/rocm"
    # Any library will do: kiln doctor loads it.
    cp "$system/usr/lib/x86_64-linux-gnu/libm.so.6" "$system/opt/rocm-7.0.0/lib/libhipdnn_backend.so"
    "$@"
    local link=hipdnn_plugins/engines/kiln_plugin.so
    inside test -f "/opt/rocm-7.0.0/lib/$link" || fail "the plugin is not linked to hipDNN's directory"
    # The smallest package that can bring a hipDNN.
    mkdir -p "$out/hipdnn/DEBIAN" "$out/hipdnn/opt/rocm-7.1.0/lib"
    touch "$out/hipdnn/opt/rocm-7.1.0/lib/libhipdnn_backend.so"
    printf '%s\n' 'Package: hipdnn' 'Version: 1' 'Architecture: all' 'Maintainer: none' 'Description: stand-in' \
        >"$out/hipdnn/DEBIAN/control"
    dpkg-deb --root-owner-group --build "$out/hipdnn" "$system/packages/hipdnn.deb" >/dev/null
    inside dpkg --install /packages/hipdnn.deb >/dev/null
    inside test -f "/opt/rocm-7.1.0/lib/$link" || fail "the plugin is not linked to a hipDNN that came later"
}

# With the compilers that the .deb recommends.
test_with_compilers() {
    fresh_system bookworm
    quietly "$out/bookworm.log" inside apt-get update -qq
    inside apt-get install --simulate /packages/"${deb##*/}" >"$out/bookworm-recommended.txt"
    local package
    for package in g++ libamd-comgr2; do
        grep -q "^Inst $package " "$out/bookworm-recommended.txt" || fail "apt would not install $package with Kiln"
    done
    # Without what those recommend in turn, which is much.
    test_links quietly "$out/bookworm.log" inside apt-get install -y -qq --no-install-recommends /packages/"${deb##*/}" g++ libamd-comgr2
    inside kiln version
    run_samples
    grep -q "in hipDNN's default set" "$out/doctor.log" || fail "kiln doctor does not find the plugin: $(cat "$out/doctor.log")"
    remove_package
}

# The system in which the tests of the Debian 13 leg run has these compilers too.
test_with_newer_compilers() {
    system=$kiln_root/build/debian-trixie
    mkdir -p "$system/packages"
    cp "$deb" "$system/packages"
    quietly "$out/trixie.log" inside dpkg --install /packages/"${deb##*/}"
    run_samples
    remove_package
}

run_samples() {
    inside kiln doctor >"$out/doctor.log" 2>&1 || fail "kiln doctor: $(cat "$out/doctor.log")"
    tail -n 1 "$out/doctor.log"
    every "$sample_share" "$kiln_root"/samples/*/*.json | sed "s|^$kiln_root|/usr/share/kiln|" | inside bash -euc '
        graphs=0
        while read -r graph; do
            kiln run --device host --verify "$graph" >/dev/null
            graphs=$((graphs + 1))
        done
        echo "$graphs samples right on the host device"
        ((graphs > 0))
    '
}

remove_package() {
    quietly "$out/remove.log" inside dpkg --remove kiln
    [[ -z $(find "$system/usr" "$system/opt" -name 'kiln*' -not -path '*/cache/*') ]] || fail "files remain after removal"
}

# The commands of docs/containers.md: a pack that one compiler made, on Debian 12 clang 19. A test of the first leg has compiled
# most of it with the same compiler.
make_pack() {
    local compiled=$kiln_root/build/dev/tests/end_to_end/code_objects_cache
    rm -rf "$out/cache" "$out/kernels.pack"
    [[ ! -d $compiled ]] || cp -r "$compiled" "$out/cache"
    mapfile -t files < <([[ ! -d $graphs ]] || every "$graph_share" "$graphs"/*/*.bin)
    quietly "$out/compile.log" "$build/cli/kiln" compile --target "$target" --cache "$out/cache" -j "$kiln_jobs" \
        "$kiln_root/samples" "${files[@]}"
    tail -n 1 "$out/compile.log"
    "$build/cli/kiln" cache export --cache "$out/cache" "$out/kernels.pack"
}

# Libraries that the emulator needs and a bare system lacks. They are no compiler that Kiln could start.
copy_emulator() {
    local library
    mkdir -p "$system/emulator"
    cp -L "$emulator"/lib*.so* "$system/emulator"
    while read -r library; do
        [[ -e $system$library || -e $system/usr$library ]] || cp -L "$library" "$system/emulator"
    done < <(ldd "$emulator"/libamdhip64.so.5 | sed -nE 's/.* => (\/[^ ]*) .*/\1/p')
}

test_without_compilers() {
    fresh_system trixie
    local plugin=/opt/rocm/lib/hipdnn_plugins/engines/kiln_plugin.so
    mkdir -p "$system/opt/rocm" "$system/opt/kiln" "$system/tests"
    tar -C "$system/opt/rocm" --strip-components=1 -xf "$archive"
    cp "$out/kernels.pack" "$system/opt/kiln"
    cp "$driver"/{plugin_graphs_test,shared_graphs_test} "$system/tests"
    copy_emulator
    local found
    found=$(inside bash -c 'compgen -c | grep -xE "(cc|c\+\+|gcc|g\+\+|clang|clang\+\+|ld|lld)(-[0-9]+)?|.*-gcc" || true')
    [[ -z $found ]] || fail "the bare system has compilers: $found"
    # As the recipe has it.
    local environment
    mapfile -t environment < <(sed -nE 's/^ *ENV (KILN_[A-Z_]+=)/\1/p' "$kiln_root/docs/containers.md")
    ((${#environment[@]} == 2)) || fail "docs/containers.md sets no environment"
    environment+=(KILN_HIP_LIBRARY=/emulator/libamdhip64.so.5 LD_LIBRARY_PATH=/emulator EMU_ARCH="$target"
        EMU_THREADS="$kiln_jobs" KILN_DEVICE=hip)
    inside env "${environment[@]}" /opt/rocm/bin/kiln doctor >"$out/doctor.log" 2>&1 ||
        fail "kiln doctor: $(cat "$out/doctor.log")"
    inside env "${environment[@]}" bash -euc '
        /tests/plugin_graphs_test hip "$1" /opt/rocm/share/kiln/samples/*/*.json 2>/tmp/log || { cat /tmp/log; exit 1; }
    ' bash "$plugin"
    # Without the pack nothing runs: the kernels above came from it.
    if inside env "${environment[@]}" KILN_CACHE_LAYERS= /tests/plugin_graphs_test hip "$plugin" \
        /opt/rocm/share/kiln/samples/current/softmax_fp32.json >"$out/declined.log" 2>&1; then
        fail "a sample ran without the pack"
    fi
    grep -q 'the plugin declined it' "$out/declined.log" || fail "$(cat "$out/declined.log")"
    local era names
    for era in current nov2025; do
        mapfile -t names < <(printf '%s\n' "${files[@]}" | sed -nE "s|.*/$era/([^/]*)\.bin$|\1|p")
        ((${#names[@]} > 0)) || continue
        cp -r "$graphs/$era" "$system/graphs"
        inside env "${environment[@]}" bash -euc '
            /tests/shared_graphs_test --device hip "$@" 2>/tmp/log || { cat /tmp/log; exit 1; }
        ' bash "$plugin" /graphs "${names[@]}"
        rm -r "$system/graphs"
    done
}

mkdir -p "$out"
command -v dpkg-shlibdeps >/dev/null || {
    say "skipped: the packages: dpkg-dev is not installed"
    exit 77
}
step "build"
build_without_tests
step "cpack"
make_packages
check_packages
step "lib64"
check_lib64
obstacle=$(system_obstacle)
if [[ -n $obstacle ]]; then
    say "skipped: the packages in bare systems: $obstacle"
else
    step "Debian 12, with the compilers that are recommended"
    test_with_compilers
    if [[ -x $kiln_root/build/debian-trixie/usr/bin/g++ ]]; then
        step "Debian 13, with compilers"
        test_with_newer_compilers
    else
        say "skipped: Debian 13 with compilers: scripts/test_in_chroot.sh makes that system"
    fi
    if [[ -e $emulator/libamdhip64.so.5 && -x $driver/plugin_graphs_test ]] && command -v clang-19 >/dev/null; then
        step "a pack for $target"
        make_pack
        step "Debian 13, without a compiler"
        test_without_compilers
    else
        say "skipped: the packages without a compiler: clang-19, build/dev or build/emulator is missing"
    fi
fi
echo "$steps steps passed"
