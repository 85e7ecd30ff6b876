#!/usr/bin/env bash
# The three .deb of ./dev package, unpacked into a folder since a test may not install: their dependencies, the consumer
# against them, and the command.
source "$(dirname -- "${BASH_SOURCE[0]}")/scratch.sh"
command -v dpkg-shlibdeps > /dev/null || exit 77

quietly "$CPACK" --config "$build/CPackConfig.cmake" -B "$scratch/made"
system=$(dpkg --print-architecture)
root=$scratch/root
for package in libholdfast0 libholdfast-dev holdfast; do
    quietly dpkg-deb -x "$scratch/made/${package}_0.1.0_$system.deb" "$root"
done
depends() { dpkg-deb -f "$scratch/made/$1_0.1.0_$system.deb" Depends; }
[[ $(depends libholdfast0) == *libhiredis* && $(depends libholdfast0) == *libssl3* ]] || fail "libholdfast0 depends on: $(depends libholdfast0)"
[[ $(depends libholdfast-dev) == "libholdfast0 (= 0.1.0), libhiredis-dev, libssl-dev"* ]] ||
    fail "libholdfast-dev depends on: $(depends libholdfast-dev)"
[[ $(depends holdfast) == *libfmt* ]] || fail "holdfast depends on: $(depends holdfast)"
control() { dpkg-deb --ctrl-tarfile "$scratch/made/$1_0.1.0_$system.deb" | tar -xO "./$2" 2> /dev/null || true; }
[[ $(control libholdfast0 shlibs) == "libholdfast 0 libholdfast0 (>= 0.1.0)" ]] ||
    fail "a user of libholdfast.so.0 would depend on: $(control libholdfast0 shlibs)"
[[ $(control libholdfast-dev shlibs)$(control holdfast shlibs) == "" ]] || fail "packages without a library have shlibs"
[[ $(find "$root" -name '*test*' -o -name '*bench*') == "" ]] || fail "tests are in the packages"

build_consumer -DCMAKE_PREFIX_PATH="$root/usr"
runs "$scratch/consumer/consumer"
[[ $("$root/usr/bin/holdfast" --version) == "holdfast 0.1.0" ]] || fail "holdfast --version"
