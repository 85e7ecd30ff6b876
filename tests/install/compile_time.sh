#!/usr/bin/env bash
# The cost of including <holdfast/mutex.hpp>. The floor is the std headers that its API uses.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
cd "$scratch"
echo '#include <holdfast/mutex.hpp>' > ours.cpp
printf '#include <%s>\n' chrono memory optional stop_token string system_error utility > floor.cpp

# It includes no system header that the floor does not include.
headers() { "$CXX" -std=c++20 -Iprefix/include -M "$1" | tr -s ' ' '\n' | grep '^/' | sort -u; }
more=$(comm -23 <(headers ours.cpp) <(headers floor.cpp))
[[ -z $more ]] || fail "it includes more of std than necessary:"$'\n'"$more"

# milliseconds FILE: of CPU, since other processes run, too
milliseconds() {
    local TIMEFORMAT='%U %S' used
    used=$({ time "$CXX" -std=c++20 -O2 -Iprefix/include -c "$1" -o out.o; } 2>&1) || fail "$used"
    awk '{ printf "%d\n", ($1 + $2) * 1000 }' <<< "$used"
}
for _ in 1 2 3; do # in turns, so that a busy moment affects both
    milliseconds floor.cpp >> floor
    milliseconds ours.cpp >> ours
done
least() { sort -n "$1" | head -n 1; }
echo "mutex.hpp: $(least ours) ms of CPU, the floor: $(least floor) ms"
# Generous: on a shared processor the same work may cost half as much again.
(($(least ours) * 2 <= $(least floor) * 3)) || fail "that is more than one and a half times the floor"
(($(least ours) < 10000)) || fail "that is far too much"
