#!/usr/bin/env bash
# examples/server.cpp, which people copy: it answers every line correctly and survives a crowd of clients.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
[[ -x $build/examples/server ]] || exit 77

(ulimit -n 24 && exec "$build/examples/server" 0 local:) > "$scratch/said" 2> "$scratch/complaints" &
server=$!
trap 'kill "$server" 2> /dev/null || true; rm -rf -- "$scratch"' EXIT

# eventually PATTERN FILE: waits while the server lives
eventually() {
    local tries
    for ((tries = 0; tries < 2400; ++tries)); do
        kill -0 "$server" || break
        if grep -q "$1" "$2"; then return; fi
        sleep 0.05
    done
    fail "it does not print \"$1\" but: $(cat "$scratch/said" "$scratch/complaints")"
}
eventually 'listening on' "$scratch/said"
port=$(sed 's/.*://' "$scratch/said")

# answers WANTED LINE: on a connection of its own
answers() {
    local said fd
    exec {fd}<> "/dev/tcp/127.0.0.1/$port"
    printf '%b\n' "$2" >&"$fd"
    read -r -t 120 said <&"$fd" || fail "no answer to \"$2\": $(cat "$scratch/complaints")"
    exec {fd}>&-
    [[ $said == "$1" ]] || fail "the answer to \"$2\" is \"$said\" and not \"$1\""
}
answers 'sold apple' 'apple'
answers 'sold apple' 'apple\r'
answers 'error: which item?' ''
answers 'error: which item?' '\r'

crowd=()
for _ in {1..30}; do
    exec {fd}<> "/dev/tcp/127.0.0.1/$port"
    crowd+=("$fd")
done
eventually 'accept: ' "$scratch/complaints"
for fd in "${crowd[@]}"; do exec {fd}>&-; done
answers 'sold pear' 'pear'
