# find_package(holdfast) defines the target holdfast::holdfast: the shared library, or after
# set(holdfast_USE_STATIC_LIBS ON) the static one.

# The target cannot change later. A caller that names no library gets the existing one.
if(TARGET holdfast::holdfast)
    get_target_property(_holdfast_kind holdfast::holdfast TYPE)
    if(DEFINED holdfast_USE_STATIC_LIBS
            AND ((holdfast_USE_STATIC_LIBS AND NOT _holdfast_kind STREQUAL "STATIC_LIBRARY")
                OR (NOT holdfast_USE_STATIC_LIBS AND _holdfast_kind STREQUAL "STATIC_LIBRARY")))
        set(holdfast_FOUND FALSE)
        set(holdfast_NOT_FOUND_MESSAGE "The target holdfast::holdfast is there already, as a ${_holdfast_kind}; \
set holdfast_USE_STATIC_LIBS before the first find_package(holdfast).")
    endif()
    unset(_holdfast_kind)
    return()
endif()

if(NOT holdfast_USE_STATIC_LIBS)
    include("${CMAKE_CURRENT_LIST_DIR}/holdfast-shared.cmake")
    return()
endif()

# The shared library links these itself; a user of the static one must link them.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(PkgConfig)
pkg_check_modules(hiredis QUIET IMPORTED_TARGET hiredis)
if(NOT TARGET PkgConfig::hiredis)
    set(holdfast_FOUND FALSE)
    set(holdfast_NOT_FOUND_MESSAGE "The static library needs hiredis (Debian: libhiredis-dev).")
    return()
endif()
find_dependency(OpenSSL)
find_package(SQLite3 QUIET)  # if the library was built with it
include("${CMAKE_CURRENT_LIST_DIR}/holdfast-static.cmake")
