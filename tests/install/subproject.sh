#!/usr/bin/env bash
# holdfast as a part of another project, by FetchContent from this folder: it builds only the library and does not
# change the other project (consumer/CMakeLists.txt compares). To compile all of it again would cost a minute, so the
# test compiles only the consumer's objects and one folder of the library, and asks ninja for the link commands.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
[[ $CMAKE_GENERATOR == Ninja ]] || exit 77

configure() { quietly "$CMAKE" -S consumer -B "$scratch/whole" -DHOLDFAST_FROM="$source_tree" -DCMAKE_UNITY_BUILD=ON "$@"; }
commands() { ninja -C "$scratch/whole" -t commands "$1"; }

configure -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
quietly "$CMAKE" --build "$scratch/whole" --target holdfast_base \
    "CMakeFiles/consumer.dir/Unity/unity_0_cxx.cxx.o"
commands all > "$scratch/commands"
if grep -E 'ccache|-Werror|-g1|-O2|libholdfast\.so|cli/|tests/' "$scratch/commands"; then
    fail "a project that uses the library needs none of this"
fi
grep -qE -- '-o consumer .*libholdfast\.a .*hiredis.*ssl' "$scratch/commands" || fail "the consumer is not linked with all its dependencies"
quietly "$CMAKE" --install "$scratch/whole" --prefix "$scratch/prefix"
[[ ! -e $scratch/prefix ]] || fail "it installs $(ls "$scratch/prefix") with the other project"

configure -DBUILD_SHARED_LIBS=ON
commands consumer | grep -qE -- '-o consumer .*libholdfast\.so' || fail "BUILD_SHARED_LIBS has no effect"
