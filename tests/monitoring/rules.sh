#!/usr/bin/env bash
# Each alert fires for its fault, and none for a healthy program.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")"
promtool check rules ../../monitoring/holdfast.rules.yml
promtool test rules rules.test.yml
