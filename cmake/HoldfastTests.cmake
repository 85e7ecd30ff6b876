# The limit of each ctest entry, in seconds. Only a test that hangs reaches it: main() of the test binaries ends such a
# test earlier and names it (tests/support/main.cpp).
set(HOLDFAST_TEST_TIMEOUT 1200)

# holdfast_test(<name> [SHARDS <n>]): makes the calling folder, with its subfolders, the test binary <name>_tests, and one
# ctest entry with the label <name>; none while the folder is empty.
#
# Not gtest_discover_tests: it starts the binary once per test, which is slow and, on a busy machine, times out.
# SHARDS splits a binary that mostly waits into entries that run side by side.
# Every entry writes an XML of its results to <build>/test-results; ./dev test adds them up.
function(holdfast_test name)
    cmake_parse_arguments(arg "" "SHARDS" "" ${ARGN})
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
    if(NOT files)
        return()
    endif()
    set(target ${name}_tests)
    add_executable(${target} ${files})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${target} PRIVATE
        holdfast_warnings holdfast_internal holdfast_test_support rapidcheck rapidcheck_gtest GTest::gtest)
    target_compile_definitions(${target} PRIVATE HOLDFAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    if(TARGET holdfast_cli)
        # Some tests run the command.
        target_compile_definitions(${target} PRIVATE HOLDFAST_COMMAND="$<TARGET_FILE:holdfast_cli>")
        add_dependencies(${target} holdfast_cli)
    endif()
    holdfast_build_together(${target})
    # The optimizer takes longer over a test than the test runs.
    target_compile_options(${target} PRIVATE -O0)
    target_precompile_headers(${target} REUSE_FROM holdfast_test_pch)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()

    if(NOT arg_SHARDS)
        set(arg_SHARDS 1)
    endif()
    math(EXPR last "${arg_SHARDS} - 1")
    foreach(shard RANGE ${last})
        set(test ${name})
        if(arg_SHARDS GREATER 1)
            set(test ${name}.${shard})
        endif()
        add_test(NAME ${test} COMMAND ${target})
        set_tests_properties(${test} PROPERTIES
            LABELS ${name}
            TIMEOUT ${HOLDFAST_TEST_TIMEOUT}
            COST ${arg_SHARDS}  # the longest start first
            ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard};GTEST_BRIEF=1;GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/test-results/${test}.xml")
    endforeach()
endfunction()

# gtest and the heaviest std headers, compiled once for all test binaries. The target is an executable, because test
# binaries are position-independent executables and gcc uses a precompiled header only with the same flags.
function(holdfast_add_test_pch)
    file(WRITE "${PROJECT_BINARY_DIR}/generated/test_pch.cpp" "int main() {}\n")
    add_executable(holdfast_test_pch "${PROJECT_BINARY_DIR}/generated/test_pch.cpp")
    target_link_libraries(holdfast_test_pch PRIVATE holdfast_warnings rapidcheck GTest::gtest)
    target_compile_options(holdfast_test_pch PRIVATE -O0)
    target_precompile_headers(holdfast_test_pch PRIVATE
        <gtest/gtest.h> <algorithm> <atomic> <chrono> <condition_variable> <deque> <functional> <future> <map> <memory>
        <mutex> <optional> <string> <string_view> <thread> <unordered_map> <variant> <vector>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # ccache can only use a precompiled header of gcc with this option.
        target_compile_options(holdfast_test_pch PRIVATE -fpch-preprocess)
    endif()
endfunction()
