#!/usr/bin/env bash
# Fetches the other clients of the interop suite by their own package managers, in the versions that are pinned here
# and in the lock files, and builds their peers:
#
#     fetch.sh FOLDER
#
# What is right is not made again: each folder has a stamp with the checksum of what it was made from.
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
    stamp=$(cat -- "$here/fetch.sh" "$here/$from"/* | sha256sum)
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

for tool in java javac mvn; do
    command -v "$tool" > /dev/null || die "$tool is missing; ./dev setup interop installs it"
done
for version in "${redisson_versions[@]}"; do
    fetched "redisson-$version" fetch_redisson "$version"
done
