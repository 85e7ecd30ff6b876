#!/usr/bin/env bash
# cmake needs only what README lists for the library alone: no Boost, and no dependency of the command. The test only
# configures, since the library is the same.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
[[ $CMAKE_GENERATOR == Ninja ]] || exit 77

off=()
for package in Boost CLI11 nlohmann_json CURL fmt SQLite3 GTest rapidcheck; do off+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"); done
said=$("$CMAKE" -S "$source_tree" -B "$scratch/plain" -DHOLDFAST_BUILD_TESTS=OFF -DHOLDFAST_BUILD_CLI=OFF "${off[@]}" 2>&1) ||
    fail "$said"
[[ $said == *'examples/server.cpp is left out: it needs Boost 1.81'* ]] || fail "it does not name what is missing: $said"
ninja -C "$scratch/plain" -t targets all > "$scratch/targets"
grep -q '^examples/first:' "$scratch/targets" || fail "the other examples are missing, too"
if grep '^examples/server:' "$scratch/targets"; then fail "it would build examples/server.cpp"; fi
