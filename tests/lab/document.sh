#!/usr/bin/env bash
# document.sh KEPT WRITTEN: the kept document equals the one that a run writes now.
set -euo pipefail

if ! diff -u --label "$1" --label "written now" "$1" "$2"; then
    echo "docs/ladder.md differs from what the lab writes now: run ./dev docs and look at the difference" >&2
    exit 1
fi
