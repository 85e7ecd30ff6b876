# One target per folder of src, and the sources of a target.

# holdfast_sources(<target> <folder> [RECURSE]): every .cpp of the folder belongs to the target.
# The sources of the target stay in HOLDFAST_SOURCES_<target>, so that callers can see whether there are any.
function(holdfast_sources target folder)
    cmake_parse_arguments(arg "RECURSE" "" "" ${ARGN})
    if(arg_RECURSE)
        file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*.cpp")
    else()
        file(GLOB files CONFIGURE_DEPENDS "${folder}/*.cpp")
    endif()
    if(NOT files)
        # CMake refuses a target without sources, and a new folder may be empty.
        set(empty "${PROJECT_BINARY_DIR}/generated/empty.cpp")
        if(NOT EXISTS "${empty}")
            file(WRITE "${empty}" "")
        endif()
        set(files "${empty}")
    endif()
    target_sources(${target} PRIVATE ${files})
endfunction()

# The shared library exports only what is marked HOLDFAST_API.
function(holdfast_hide_symbols target)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# The std headers that nearly all sources include, compiled once for all targets that reuse them: this halves the build
# time. Sources still include what they need; the build that clang-tidy reads has no precompiled headers.
function(holdfast_add_pch)
    file(WRITE "${PROJECT_BINARY_DIR}/generated/pch.cpp" "")
    add_library(holdfast_pch OBJECT "${PROJECT_BINARY_DIR}/generated/pch.cpp")
    target_link_libraries(holdfast_pch PRIVATE holdfast_warnings Threads::Threads)
    holdfast_hide_symbols(holdfast_pch)
    target_precompile_headers(holdfast_pch PRIVATE
        <algorithm> <atomic> <chrono> <condition_variable> <deque> <functional> <map> <memory> <mutex> <optional> <span>
        <stop_token> <string> <string_view> <system_error> <thread> <unordered_map> <utility> <variant> <vector>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # ccache can only use a precompiled header of gcc with this option.
        target_compile_options(holdfast_pch PRIVATE -fpch-preprocess)
    endif()
endfunction()

function(holdfast_reuse_pch target)
    target_precompile_headers(${target} REUSE_FROM holdfast_pch)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
endfunction()

# Compiles several sources of a target at a time, for those that include more than their own code: half the time.
function(holdfast_build_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 15)
    if(HOLDFAST_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # These sources mostly include templates of third parties. The checks take a third of their build time, and the
        # address sanitizer finds most of the same faults; the library itself has all checks.
        target_compile_options(${target} PRIVATE -fno-sanitize=null,object-size,alignment,vptr)
    endif()
endfunction()

# holdfast_folder(<name> [<dependency>...]): makes the calling folder the object target holdfast_<name>.
# Its objects go into the library; its dependencies say which headers it may see.
function(holdfast_folder name)
    set(target holdfast_${name})
    add_library(${target} OBJECT)
    holdfast_sources(${target} "${CMAKE_CURRENT_SOURCE_DIR}")
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE holdfast_warnings PUBLIC Threads::Threads ${ARGN})
    holdfast_hide_symbols(${target})
    holdfast_reuse_pch(${target})
    set_property(GLOBAL APPEND PROPERTY HOLDFAST_FOLDERS ${target})
endfunction()
