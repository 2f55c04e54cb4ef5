#!/bin/sh
# usage: exported_symbols_test.sh NM READELF PLUGIN FUNCTIONS.DEF
# The plugin exports exactly the functions of the table, and needs libc and its companions only.
set -eu
nm=$1 readelf=$2 plugin=$3 table=$4

exported=$("$nm" -D --defined-only "$plugin" | awk '{print $3}' | sort)
expected=$(sed -n 's/^PLUGIN_FUNCTION(\([A-Za-z0-9_]*\),.*/\1/p' "$table" | sort)
if [ "$exported" != "$expected" ]; then
    echo "exported symbols differ from the ABI:"
    printf '%s\n%s\n' "$exported" "$expected" | sort | uniq -u
    exit 1
fi
needed=$("$readelf" -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
for library in $needed; do
    case $library in
    libc.so.*|libm.so.*|libgcc_s.so.*|libdl.so.*|libpthread.so.*|ld-linux*.so.*) ;;
    libasan.so.*|libubsan.so.*|libtsan.so.*) ;;
    *) echo "the plugin needs '$library'"; exit 1 ;;
    esac
done
case $("$readelf" -d "$plugin") in
*SONAME*) echo "a plugin needs no soname"; exit 1 ;;
esac
echo "$(echo "$exported" | wc -l) symbols, needs: $(echo $needed)"
