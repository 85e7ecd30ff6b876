#!/usr/bin/env bash
# pkg-config against the installed tree: the shared library, and with --static the static one with its dependencies.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
prefix=$scratch/prefix
install_to "$prefix"
libraries=$(library_folder "$prefix")
[[ $(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --modversion holdfast) == 0.1.0 ]] || fail "the version"

# PKG_CONFIG_LIBDIR: there is no other .pc file, and none is needed.
read -ra flags <<< "$(PKG_CONFIG_LIBDIR=$libraries/pkgconfig pkg-config --cflags --libs holdfast)"
for source in main shop; do
    quietly "$CXX" -std=c++20 -c "consumer/$source.cpp" "${flags[@]}" -o "$scratch/$source.o"
done
# The first error names a forgotten -std=c++20.
said=$("$CXX" -std=c++17 -fsyntax-only consumer/main.cpp "${flags[@]}" 2>&1) && fail "it compiles as C++17"
[[ $(grep -m 1 'error:' <<< "$said") == *"holdfast needs C++20"* ]] || fail "the error for C++17 is: $said"
quietly "$CXX" "$scratch/"{main,shop}.o "${flags[@]}" -o "$scratch/shared"
runs "$scratch/shared" "$libraries"
if needs "$scratch/shared" | grep -E 'hiredis|ssl'; then fail "it needs hiredis or OpenSSL itself"; fi

read -ra flags <<< "$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --static --libs holdfast)"
quietly "$CXX" "$scratch/"{main,shop}.o -Wl,-Bstatic "${flags[@]}" -Wl,-Bdynamic -o "$scratch/static"
runs "$scratch/static"
if needs "$scratch/static" | grep -E 'holdfast|hiredis|ssl|crypto'; then fail "it needs a shared library"; fi
