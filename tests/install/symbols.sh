#!/usr/bin/env bash
# The shared library shows the API, which is symbols.txt, and nothing else.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
library=$(library_folder "$scratch/prefix")/libholdfast.so
[[ $(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p') == libholdfast.so.0 ]] || fail "the soname"

# Templates of std that it uses are weak and everybody's: out, by their mangled names, since a demangled one may begin
# with what it returns. Then names only, without addresses, parameters and what stands before a name.
nm -D --defined-only "$library" | cut -d ' ' -f 2- |
    grep -vE '^[VWu] _Z(GV|T[VIST])?Z*(N[KRO]*)?(S[a-z]|9__gnu_cxx)' | cut -d ' ' -f 2 | c++filt |
    sed -E 's/^(typeinfo|typeinfo name|vtable|VTT|guard variable) for //; s/[[(<].*//' |
    LC_ALL=C sort -u > "$scratch/symbols"
diff symbols.txt "$scratch/symbols" ||
    fail "'>' is new: take HOLDFAST_API off it, or, if users are to have it, add it to tests/install/symbols.txt;" \
        "'<' is gone: give it HOLDFAST_API, or, if users are to lose it, take it out there"
