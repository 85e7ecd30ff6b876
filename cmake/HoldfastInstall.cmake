# Where cmake --install puts each file. The components are the three Debian packages.

# GNUInstallDirs finds Debian's folder for libraries only if the prefix is /usr at that time; a package and
# cmake --install --prefix set the prefix later.
if(EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE AND NOT DEFINED CMAKE_INSTALL_LIBDIR)
    set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS holdfast_shared EXPORT holdfast-shared
    LIBRARY COMPONENT libholdfast0 NAMELINK_COMPONENT libholdfast-dev
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS holdfast_static EXPORT holdfast-static
    ARCHIVE COMPONENT libholdfast-dev
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/holdfast" TYPE INCLUDE COMPONENT libholdfast-dev)

# find_package: one target, holdfast::holdfast; the user chooses its library (see holdfast-config.cmake).
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
foreach(kind IN ITEMS shared static)
    install(EXPORT holdfast-${kind} NAMESPACE holdfast:: DESTINATION "${package_folder}" COMPONENT libholdfast-dev)
endforeach()
set(version_file "${PROJECT_BINARY_DIR}/generated/holdfast-config-version.cmake")
write_basic_package_version_file("${version_file}" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/holdfast-config.cmake" "${version_file}"
    DESTINATION "${package_folder}" COMPONENT libholdfast-dev)

# pkg-config: paths relative to the file, since the prefix is not known yet.
cmake_path(SET pkgconfig_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "${pkgconfig_folder}" OUTPUT_VARIABLE pc_include)
list(JOIN hiredis_LDFLAGS " " pc_hiredis)
if(SQLite3_FOUND)
    set(pc_sqlite -lsqlite3)
endif()
set(pc_openssl "-lssl -lcrypto -ldl")  # -ldl: for a static libcrypto with an old C library
configure_file("${PROJECT_SOURCE_DIR}/cmake/holdfast.pc.in" "${PROJECT_BINARY_DIR}/generated/holdfast.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/holdfast.pc"
    DESTINATION "${pkgconfig_folder}" COMPONENT libholdfast-dev)

if(HOLDFAST_BUILD_CLI)
    install(TARGETS holdfast_cli RUNTIME COMPONENT holdfast)
    install(FILES "${PROJECT_BINARY_DIR}/generated/holdfast.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT holdfast)
    install(FILES "${PROJECT_BINARY_DIR}/generated/holdfast.bash"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME holdfast COMPONENT holdfast)
    install(FILES "${PROJECT_BINARY_DIR}/generated/_holdfast"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT holdfast)
    install(FILES "${PROJECT_BINARY_DIR}/generated/holdfast.fish"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT holdfast)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/monitoring" DESTINATION "${CMAKE_INSTALL_DATADIR}/holdfast" COMPONENT holdfast)
endif()
