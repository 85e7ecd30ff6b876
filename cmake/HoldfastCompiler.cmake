# How everything is compiled: language level, build type, ccache, warnings and sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Users often link the static library into a shared one.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    if(NOT CMAKE_BUILD_TYPE)
        set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
    endif()
    # Line tables are all that a stack trace needs; full debug information doubles the build time.
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

    find_program(HOLDFAST_CCACHE ccache)
    if(HOLDFAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        # Without this option ccache does not cache files that use a precompiled header.
        set(CMAKE_CXX_COMPILER_LAUNCHER
            env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${HOLDFAST_CCACHE}")
    endif()
endif()

# hiredis asks its users for this, and a precompiled header is for sources with the same definitions.
add_compile_definitions(_FILE_OFFSET_BITS=64)

# Sanitizers apply to tests and library alike: a half-instrumented program gives false reports.
if(HOLDFAST_SANITIZE)
    add_compile_options(-fsanitize=${HOLDFAST_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${HOLDFAST_SANITIZE})
    # Sanitizers add millions of relocations. Done at each start of a program they cost more than most tests of it, and
    # each fork copies the pages that they touch.
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
    if(HOLDFAST_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
endif()
if(HOLDFAST_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "HOLDFAST_FUZZ needs clang (libFuzzer); configure with -DCMAKE_CXX_COMPILER=clang++-14")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The warnings of holdfast's own targets. An interface target, so that users of the library do not inherit them.
add_library(holdfast_warnings INTERFACE)
target_compile_options(holdfast_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers)  # a config says what differs from its defaults: options{.password = "x"}
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(holdfast_warnings INTERFACE -Wthread-safety)
else()
    # gcc 12 warns of std::string + std::string (gcc.gnu.org/PR105651).
    target_compile_options(holdfast_warnings INTERFACE -Wno-restrict)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        # At -O3 it also warns of overflows in that sum (gcc.gnu.org/PR105329), and of strings of a temporary that is
        # not yet made when another argument throws. At -O2 it gives neither warning, and they stay on.
        target_compile_options(holdfast_warnings INTERFACE
            $<$<CONFIG:Release>:-Wno-stringop-overflow> $<$<CONFIG:Release>:-Wno-array-bounds>
            $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
    endif()
    if(HOLDFAST_SANITIZE)
        # By gcc's manual these warnings are wrong for instrumented code. And thread sanitizer does not see the memory
        # fences in Asio, whose mutexes have the same effect.
        target_compile_options(holdfast_warnings INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-tsan)
    endif()
endif()
if(HOLDFAST_WERROR)
    target_compile_options(holdfast_warnings INTERFACE -Werror)
endif()
