// The Nacos of nacos_test.cpp: an imitated one here, a real one in the interop tests.
#pragma once

#include "support/nacos_centre.hpp"

namespace holdfast::test {

// One of each for all tests; it runs.
[[nodiscard]] nacos_centre& nacos(nacos_centre::version has);

}  // namespace holdfast::test
