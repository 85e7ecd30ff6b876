# One target per folder of src, and the sources of a target.

# holdfast_sources(<target> <folder> [RECURSE]): every .cpp of the folder belongs to the target.
# The target's sources stay in HOLDFAST_SOURCES_<target> for whoever must know whether there are any.
function(holdfast_sources target folder)
    cmake_parse_arguments(arg "RECURSE" "" "" ${ARGN})
    if(arg_RECURSE)
        file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*.cpp")
    else()
        file(GLOB files CONFIGURE_DEPENDS "${folder}/*.cpp")
    endif()
    if(NOT files)
        # CMake refuses a target without sources, and a folder may be empty while it is being written.
        set(empty "${PROJECT_BINARY_DIR}/generated/empty.cpp")
        if(NOT EXISTS "${empty}")
            file(WRITE "${empty}" "")
        endif()
        set(files "${empty}")
    endif()
    target_sources(${target} PRIVATE ${files})
endfunction()

# What is not marked HOLDFAST_API stays inside the shared library.
function(holdfast_hide_symbols target)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# What of std nearly every source of ours includes, compiled once for all targets that reuse it: it halves the time of a
# build. Sources name what they need all the same; the build that clang-tidy reads has no precompiled headers.
function(holdfast_add_pch)
    file(WRITE "${PROJECT_BINARY_DIR}/generated/pch.cpp" "")
    add_library(holdfast_pch OBJECT "${PROJECT_BINARY_DIR}/generated/pch.cpp")
    target_link_libraries(holdfast_pch PRIVATE holdfast_warnings Threads::Threads)
    holdfast_hide_symbols(holdfast_pch)
    target_precompile_headers(holdfast_pch PRIVATE
        <algorithm> <atomic> <chrono> <condition_variable> <deque> <functional> <map> <memory> <mutex> <optional> <span>
        <stop_token> <string> <string_view> <system_error> <thread> <unordered_map> <utility> <variant> <vector>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # ccache can only use a precompiled header of gcc with this.
        target_compile_options(holdfast_pch PRIVATE -fpch-preprocess)
    endif()
endfunction()

function(holdfast_reuse_pch target)
    target_precompile_headers(${target} REUSE_FROM holdfast_pch)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
endfunction()

# Several sources of a target at a time, for those that include more than they say themselves: half the time.
function(holdfast_build_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 15)
    if(HOLDFAST_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # What they include is others' templates. These checks take a third of their time, and the address sanitizer
        # sees most of what they see; the library itself has them all.
        target_compile_options(${target} PRIVATE -fno-sanitize=null,object-size,alignment,vptr)
    endif()
endfunction()

# holdfast_folder(<name> [<dependency>...]): the folder this is called in becomes the object target holdfast_<name>.
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
