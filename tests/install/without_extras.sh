#!/usr/bin/env bash
# With what README asks for the library alone, cmake is content: no Boost, and nothing of the command's. Only configured,
# since the library is the same.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
[[ $CMAKE_GENERATOR == Ninja ]] || exit 77

off=()
for package in Boost CLI11 nlohmann_json fmt SQLite3 GTest rapidcheck; do off+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"); done
said=$("$CMAKE" -S "$source_tree" -B "$scratch/plain" -DHOLDFAST_BUILD_TESTS=OFF -DHOLDFAST_BUILD_CLI=OFF "${off[@]}" 2>&1) ||
    fail "$said"
[[ $said == *'examples/server.cpp is left out: it needs Boost 1.81'* ]] || fail "it does not say what is missing: $said"
ninja -C "$scratch/plain" -t targets all > "$scratch/targets"
grep -q '^examples/first:' "$scratch/targets" || fail "the other examples are gone too"
if grep '^examples/server:' "$scratch/targets"; then fail "it tries to build examples/server.cpp"; fi
