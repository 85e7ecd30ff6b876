#!/usr/bin/env bash
# find_package(holdfast) against the installed tree: the shared library, then the static one.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
prefix=$scratch/prefix
program=$scratch/consumer/consumer
install_to "$prefix"

# Users of the shared library need none of its build dependencies.
build_consumer -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
runs "$program"
needs "$program" | grep -qx libholdfast.so.0 || fail "it does not need libholdfast.so.0"
if needs "$program" | grep -E 'hiredis|ssl'; then fail "it needs hiredis or OpenSSL itself"; fi

build_consumer -DCMAKE_PREFIX_PATH="$prefix" -Dholdfast_USE_STATIC_LIBS=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_Threads=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=OFF
runs "$program"
if needs "$program" | grep libholdfast; then fail "it needs the shared library"; fi

# The first call decides; a later one that requests the other library fails with the reason.
mkdir "$scratch/twice"
cat > "$scratch/twice/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(twice LANGUAGES CXX)
set(holdfast_USE_STATIC_LIBS ${FIRST})
find_package(holdfast REQUIRED)
unset(holdfast_USE_STATIC_LIBS)
find_package(holdfast REQUIRED)
set(holdfast_USE_STATIC_LIBS ${SECOND})
find_package(holdfast REQUIRED)
END
twice() { "$CMAKE" -S "$scratch/twice" -B "$scratch/twice" -DCMAKE_PREFIX_PATH="$prefix" -DFIRST="$1" -DSECOND="$2" 2>&1; }
for kind in ON OFF; do said=$(twice $kind $kind) || fail "$said"; done
for kinds in 'ON OFF' 'OFF ON'; do
    # shellcheck disable=SC2086  # two words
    said=$(twice $kinds) && fail "$kinds: the second call has no effect and no error"
    [[ $said == *'holdfast_USE_STATIC_LIBS before the first'* ]] || fail "$said"
done
