#!/usr/bin/env bash
# all_is_chinese.sh PAGE: what nobody translated is marked as English in the page.
set -euo pipefail

grep -q '<html lang="zh-CN">' "$1"
if grep -o '<span lang="en">[^<]*</span>' "$1" | sort -u >&2; then
    echo "these texts want a translation in lab/chinese.cpp or lab/chinese_rungs.cpp" >&2
    exit 1
fi
