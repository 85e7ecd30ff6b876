#!/usr/bin/env bash
# The installed tree: exactly the expected files, and no path of this machine in their text.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
cd "$scratch/prefix"

find . ! -type d | sed -E 's|^\./lib/[^/]+-linux-[^/]+/|./lib/|; s|-(release\|debug\|relwithdebinfo\|noconfig)\.cmake$|-CONFIG.cmake|' |
    sort > "$scratch/found"
{
    find "$source_tree/include" -name '*.hpp' -printf './include/holdfast/%f\n'
    sed 's|^|./|' << 'END'
bin/holdfast
lib/cmake/holdfast/holdfast-config-version.cmake
lib/cmake/holdfast/holdfast-config.cmake
lib/cmake/holdfast/holdfast-shared-CONFIG.cmake
lib/cmake/holdfast/holdfast-shared.cmake
lib/cmake/holdfast/holdfast-static-CONFIG.cmake
lib/cmake/holdfast/holdfast-static.cmake
lib/libholdfast.a
lib/libholdfast.so
lib/libholdfast.so.0
lib/libholdfast.so.0.1.0
lib/pkgconfig/holdfast.pc
share/bash-completion/completions/holdfast
share/fish/vendor_completions.d/holdfast.fish
share/holdfast/monitoring/holdfast.dashboard.json
share/holdfast/monitoring/holdfast.rules.yml
share/man/man1/holdfast.1
share/zsh/site-functions/_holdfast
END
} | sort > "$scratch/wanted"
diff "$scratch/wanted" "$scratch/found" || fail "the installed files differ from the expected ones"

# Search for the source tree by its folders: a tree at /holdfast has a name that ends many installed paths.
if grep -rIlF -e"$source_tree/"{include,src,cli,cmake}/ -e "$build" -e "$scratch" .; then
    fail "the files above contain a path of this machine"
fi
[[ $(bin/holdfast --version) == "holdfast 0.1.0" ]] || fail "holdfast --version"
