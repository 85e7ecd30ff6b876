# holdfast_test(<name> TIMEOUT <seconds> [SHARDS <n>]): the folder this is called in, with its subfolders, becomes the
# test binary <name>_tests, and one ctest entry with the label <name>; none while the folder is empty.
#
# Not gtest_discover_tests: it starts the binary once per test, which is slow and, on a busy machine, times out.
# SHARDS cuts a binary that mostly waits into entries that run side by side.
# Every entry leaves an XML with its results in <build>/test-results, which ./dev test adds up.
function(holdfast_test name)
    cmake_parse_arguments(arg "" "TIMEOUT;SHARDS" "" ${ARGN})
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
    if(NOT files)
        return()
    endif()
    set(target ${name}_tests)
    add_executable(${target} ${files})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${target} PRIVATE
        holdfast_warnings holdfast_internal holdfast_test_support rapidcheck rapidcheck_gtest GTest::gtest_main)
    target_compile_definitions(${target} PRIVATE HOLDFAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    if(TARGET holdfast_cli)
        # Some tests drive the command itself.
        target_compile_definitions(${target} PRIVATE HOLDFAST_COMMAND="$<TARGET_FILE:holdfast_cli>")
        add_dependencies(${target} holdfast_cli)
    endif()
    holdfast_test_pch(${target})

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
            TIMEOUT ${arg_TIMEOUT}
            ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard};GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/test-results/${test}.xml")
    endforeach()
endfunction()

# gtest and the heaviest of std, compiled once per binary.
function(holdfast_test_pch target)
    target_precompile_headers(${target} PRIVATE
        <gtest/gtest.h> <atomic> <chrono> <functional> <memory> <mutex> <optional> <string> <string_view> <thread> <vector>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # ccache can only use a precompiled header of gcc with this.
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
endfunction()
