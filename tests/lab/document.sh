#!/usr/bin/env bash
# document.sh KEPT WRITTEN: the document that is kept is what a run of now writes.
set -euo pipefail

if ! diff -u --label "$1" --label "written now" "$1" "$2"; then
    echo "docs/ladder.md is not what the lab does now: run ./dev docs and look at the difference" >&2
    exit 1
fi
