// Marks what the shared library exports; everything else in it is hidden.
#pragma once

// Checked here, because nearly every header includes this one first. gcc 10 has C++20 and calls it 201709.
#if __cplusplus <= 201703L
#error "holdfast needs C++20: compile with -std=c++20 (CMake: target_compile_features(... cxx_std_20))"
#endif

#define HOLDFAST_API [[gnu::visibility("default")]]
