#!/usr/bin/env bash
# on_server.sh REDIS_SERVER TEST_BINARY PATTERN...: runs the tests that match, with that server in place of redis-server.
# A pattern that matches no test is a failure: a test may have been renamed.
set -euo pipefail
server=$1 tests=$2
shift 2
[[ -x $server ]] || exit 77
for pattern; do
    [[ -n $("$tests" --gtest_list_tests --gtest_filter="$pattern") ]] || {
        echo "no test matches $pattern" >&2
        exit 1
    }
done
HOLDFAST_REDIS_SERVER=$server exec "$tests" --gtest_filter="$(IFS=: && echo "$*")"
