// Marks what the shared library gives to its users; everything else in it is hidden.
#pragma once

// Here, because it is the first that nearly every header includes. gcc 10 has C++20 and calls it 201709.
#if __cplusplus <= 201703L
#error "holdfast needs C++20: compile with -std=c++20 (CMake: target_compile_features(... cxx_std_20))"
#endif

#define HOLDFAST_API [[gnu::visibility("default")]]
