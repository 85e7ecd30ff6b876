#!/usr/bin/env bash
# Fetches the other clients of the interop suite by their own package managers, in the versions that are pinned here
# and in the lock files, and builds their peers:
#
#     fetch.sh FOLDER
#
# What is right is not made again: each folder has a stamp with the checksum of what it was made from.

# shellcheck disable=SC2317  # `fetched` calls functions by name
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
mkdir -p "$1"
into=$(cd -- "$1" && pwd)
redisson_versions=(3.52.0 4.7.0)
# A network that does not answer must not hang the tests.
limit=240

die() {
    printf 'interop.fetch: %s\n' "$*" >&2
    exit 1
}

# fetched NAME COMMAND...: runs `COMMAND... NEW_FOLDER` unless NAME is there and made from what is here now.
fetched() {
    local name=$1 from=${2#fetch_} made log
    shift
    made=$into/$name
    log=$into/$name.log
    local stamp
    stamp=$(find "$here/fetch.sh" "$here/$from" -type f -print0 | sort -z | xargs -0 sha256sum)
    [[ $(cat -- "$made/stamp" 2> /dev/null) != "$stamp" ]] || return 0
    rm -rf -- "$made"
    mkdir -p "$made"
    if ! "$@" "$made" > "$log" 2>&1 < /dev/null; then
        tail -n 20 "$log" >&2
        die "$name could not be fetched or built. Is there a network? All that was said: $log"
    fi
    printf '%s\n' "$stamp" > "$made/stamp"
}

fetch_redisson() {
    timeout "$limit" mvn -q -B -f "$here/redisson/pom.xml" -Dredisson.version="$1" \
        dependency:copy-dependencies -DoutputDirectory="$2/lib" &&
        javac -nowarn -d "$2" -cp "$2/lib/*" "$here"/redisson/*.java
}

fetch_redis_py() {
    python3 -m venv "$1" &&
        timeout "$limit" "$1/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$here/redis_py/requirements.txt"
}

# In the folder of the sources: go.mod has the versions, go.sum the checksums. With the Go that is here, and no other.
fetch_redsync() {
    cd -- "$here/redsync" && GOTOOLCHAIN=local GOWORK=off \
        GOFLAGS='-mod=readonly -buildvcs=false' timeout "$limit" go build -o "$1/peer" .
}

fetch_node_redlock() {
    cp -- "$here"/node_redlock/{package.json,package-lock.json,peer.mjs} "$1" && cd -- "$1" &&
        timeout "$limit" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

for tool in java javac mvn go node npm python3; do
    command -v "$tool" > /dev/null || die "$tool is missing; ./dev setup interop installs it"
done
# Side by side, since they mostly wait for the network; but Maven writes into one folder for all.
all_redisson() {
    local version
    for version in "${redisson_versions[@]}"; do fetched "redisson-$version" fetch_redisson "$version"; done
}
all_redisson &
running=($!)
for peer in redis_py redsync node_redlock; do
    fetched "$peer" "fetch_$peer" &
    running+=($!)
done
failed=0
for process in "${running[@]}"; do
    wait "$process" || failed=1
done
exit "$failed"
