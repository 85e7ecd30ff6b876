#!/usr/bin/env bash
# What <holdfast/mutex.hpp> costs whoever includes it. The floor is what of std its API is written in.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
cd "$scratch"
echo '#include <holdfast/mutex.hpp>' > ours.cpp
printf '#include <%s>\n' chrono memory optional stop_token string system_error utility > floor.cpp

# It brings no header of the system that the floor does not bring.
headers() { "$CXX" -std=c++20 -Iprefix/include -M "$1" | tr -s ' ' '\n' | grep '^/' | sort -u; }
more=$(comm -23 <(headers ours.cpp) <(headers floor.cpp))
[[ -z $more ]] || fail "it includes more of std than it must:"$'\n'"$more"

# milliseconds FILE: of CPU, since other processes are about
milliseconds() {
    local TIMEFORMAT='%U %S' used
    used=$({ time "$CXX" -std=c++20 -O2 -Iprefix/include -c "$1" -o out.o; } 2>&1) || fail "$used"
    awk '{ printf "%d\n", ($1 + $2) * 1000 }' <<< "$used"
}
for _ in 1 2 3; do # in turns, so that a busy moment meets both
    milliseconds floor.cpp >> floor
    milliseconds ours.cpp >> ours
done
least() { sort -n "$1" | head -n 1; }
echo "mutex.hpp: $(least ours) ms of CPU, the floor: $(least floor) ms"
# Generous: on a processor that is shared the same work may cost half as much again.
(($(least ours) * 2 <= $(least floor) * 3)) || fail "that is more than one and a half times the floor"
(($(least ours) < 10000)) || fail "that is far too much"
