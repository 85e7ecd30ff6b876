#!/usr/bin/env bash
# The shared library exports the API, as listed in symbols.txt, and nothing else.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
install_to "$scratch/prefix"
library=$(library_folder "$scratch/prefix")/libholdfast.so
[[ $(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p') == libholdfast.so.0 ]] || fail "the soname"

# Drop the std templates that it uses, which are weak symbols, and the typeinfo of types of functions: by their mangled
# names, since a demangled one may begin with its return type. Then keep only names, without addresses, parameters and the words before a name.
nm -D --defined-only "$library" | cut -d ' ' -f 2- |
    grep -vE '^[VWu] _Z(GV|T[VIST])?Z*(N[KRO]*)?(S[a-z]|9__gnu_cxx)|^V _ZT[IS]P*(Do)?F' | cut -d ' ' -f 2 | c++filt |
    sed -E 's/^(typeinfo|typeinfo name|vtable|VTT|guard variable) for //; s/[[(<].*//' |
    LC_ALL=C sort -u > "$scratch/symbols"
diff symbols.txt "$scratch/symbols" ||
    fail "'>' is new: remove HOLDFAST_API from it or, if users are to have it, add it to tests/install/symbols.txt;" \
        "'<' is gone: add HOLDFAST_API to it or, if users are to lose it, remove it there"
