#!/usr/bin/env bash
# Sourced by the scripts beside it, whose first argument is the build folder of holdfast.
set -euo pipefail

build=$1
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034  # others use it
source_tree=$(cd -- "$here/../.." && pwd)
cd -- "$here"

scratch=$(mktemp -d "$build/install-test.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT

fail() {
    printf 'failed: %s\n' "$*" >&2
    exit 1
}

# quietly COMMAND...: shows the output only if the command fails
quietly() {
    "$@" > "$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        fail "$*"
    }
}

# install_to PREFIX
install_to() { quietly "$CMAKE" --install "$build" --prefix "$1"; }

# library_folder PREFIX: lib, or Debian's lib/x86_64-linux-gnu
library_folder() { dirname -- "$(find "$1" -name libholdfast.so)"; }

# build_consumer CMAKE_ARGUMENT...: builds $scratch/consumer/consumer; a second call compiles only what changed
build_consumer() {
    quietly "$CMAKE" -S consumer -B "$scratch/consumer" -DCMAKE_UNITY_BUILD=ON "$@"
    quietly "$CMAKE" --build "$scratch/consumer"
}

# runs PROGRAM [LIBRARY_FOLDER]: the consumer works
runs() {
    local said
    said=$(LD_LIBRARY_PATH=${2:-} "$1") || fail "$1 ended with $?"
    [[ $said == "2 threads sold 1000 items, one at a time" ]] || fail "$1 said: $said"
}

needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
