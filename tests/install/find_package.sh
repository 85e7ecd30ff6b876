#!/usr/bin/env bash
# find_package(holdfast) against the installed tree: the shared library, then the static one.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
prefix=$scratch/prefix
program=$scratch/consumer/consumer
install_to "$prefix"

# Users of the shared library need nothing of what it is made with.
build_consumer -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
runs "$program"
needs "$program" | grep -qx libholdfast.so.0 || fail "it does not ask for libholdfast.so.0"
if needs "$program" | grep hiredis; then fail "it asks for hiredis itself"; fi

build_consumer -DCMAKE_PREFIX_PATH="$prefix" -Dholdfast_USE_STATIC_LIBS=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_Threads=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=OFF
runs "$program"
if needs "$program" | grep libholdfast; then fail "it asks for the shared library"; fi
