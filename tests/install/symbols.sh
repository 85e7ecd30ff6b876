#!/usr/bin/env bash
# The shared library shows the API and nothing else. Templates of std that it uses are weak and everybody's.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
library=$(library_folder "$scratch/prefix")/libholdfast.so
[[ $(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p') == libholdfast.so.0 ]] || fail "the soname"

# Without addresses, parameters and what stands before a name.
nm -D --defined-only -C "$library" | cut -c18- | sed -E 's/^(.) (typeinfo|typeinfo name|vtable) for /\1 /; s/[(<].*//' |
    grep -vE '^[VWu] ([a-z]+ )?(std|__gnu_cxx)::' > "$scratch/symbols"

folders=$(cd "$source_tree/src" && printf '%s|' */ | tr -d /)
if grep -vE '^. holdfast::' "$scratch/symbols"; then fail "these are not ours"; fi
if grep -E "^. holdfast::(${folders}redis_scripts)::" "$scratch/symbols"; then fail "these are the library's own affair"; fi
for name in 'T holdfast::client::client' 'T holdfast::mutex::mutex' 'V holdfast::error' 'T holdfast::category'; do
    grep -qx "$name" "$scratch/symbols" || fail "$name is missing"
done
