#!/usr/bin/env bash
# all_is_chinese.sh PAGE: fails if the page marks a text as English, which means that it is not translated.
set -euo pipefail

grep -q '<html lang="zh-CN">' "$1"
if grep -o '<span lang="en">[^<]*</span>' "$1" | sort -u >&2; then
    echo "these texts need a translation in lab/translations_zh.cpp or lab/translations_zh_rungs.cpp" >&2
    exit 1
fi
