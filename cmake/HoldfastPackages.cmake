# ./dev package: the three Debian packages, by cpack -G DEB.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The holdfast maintainers <maintainers@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL libholdfast0 libholdfast-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps writes this into packages that use the library. It cannot be set per component; cpack makes the file for
# the component with a library.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_DEBIAN_LIBHOLDFAST0_PACKAGE_NAME libholdfast0)
set(CPACK_DEBIAN_LIBHOLDFAST0_PACKAGE_SECTION libs)
# Opened by the first URL that needs one of them.
set(CPACK_DEBIAN_LIBHOLDFAST0_PACKAGE_SUGGESTS "libcurl4, libmariadb3, libmicrohttpd12, libpq5")
set(CPACK_COMPONENT_LIBHOLDFAST0_DESCRIPTION "${PROJECT_DESCRIPTION}: the library")

set(CPACK_DEBIAN_LIBHOLDFAST-DEV_PACKAGE_NAME libholdfast-dev)
set(CPACK_DEBIAN_LIBHOLDFAST-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBHOLDFAST-DEV_PACKAGE_DEPENDS "libholdfast0 (= ${PROJECT_VERSION}), libhiredis-dev, libssl-dev")
set(CPACK_DEBIAN_LIBHOLDFAST-DEV_PACKAGE_SUGGESTS "libboost1.81-dev, prometheus-cpp-dev")  # async.hpp, prometheus.hpp
set(CPACK_COMPONENT_LIBHOLDFAST-DEV_DESCRIPTION "${PROJECT_DESCRIPTION}: headers and static library")

if(HOLDFAST_BUILD_CLI)
    list(APPEND CPACK_COMPONENTS_ALL holdfast)
    set(CPACK_DEBIAN_HOLDFAST_PACKAGE_NAME holdfast)
    set(CPACK_DEBIAN_HOLDFAST_PACKAGE_SECTION utils)
    set(CPACK_COMPONENT_HOLDFAST_DESCRIPTION "${PROJECT_DESCRIPTION}: the command")
endif()

foreach(package IN LISTS CPACK_COMPONENTS_ALL)
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}"
        RENAME copyright COMPONENT ${package} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)

# ./dev package builds this first.
add_custom_target(holdfast_packaged DEPENDS holdfast_shared holdfast_static)
if(HOLDFAST_BUILD_CLI)
    add_dependencies(holdfast_packaged holdfast_cli holdfast_pages)
endif()
