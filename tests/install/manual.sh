#!/usr/bin/env bash
# The manual page: man reads it without a warning, and it fits into a terminal.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
command -v man > /dev/null || exit 77
MANWIDTH=80 man --warnings -l "$scratch/prefix/share/man/man1/holdfast.1" > "$scratch/page" 2> "$scratch/warnings"
[[ ! -s $scratch/warnings ]] || fail "$(cat "$scratch/warnings")"
for section in NAME SYNOPSIS DESCRIPTION OPTIONS COMMANDS ENVIRONMENT 'EXIT STATUS' EXAMPLES; do
    grep -qx "$section" "$scratch/page" || fail "there is no section $section"
done
if wide=$(col -b < "$scratch/page" | grep -E '.{81}'); then fail "wider than a terminal:"$'\n'"$wide"; fi
