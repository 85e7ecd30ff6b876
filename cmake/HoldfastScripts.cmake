# holdfast_embed_scripts(<target> <folder> <header> <namespace>): the *.lua of the folder become constants in a
# header that is generated at build time and that <target> and its users find as <header>.
function(holdfast_embed_scripts target folder header namespace)
    file(GLOB scripts CONFIGURE_DEPENDS "${folder}/*.lua")
    file(GLOB around CONFIGURE_DEPENDS "${folder}/*.lua.in")
    set(output "${PROJECT_BINARY_DIR}/generated/include/${header}")
    set(generator "${PROJECT_SOURCE_DIR}/cmake/embed_scripts.cmake")
    add_custom_command(
        OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" "-DSCRIPTS=${scripts}" "-DOUTPUT=${output}" "-DNAMESPACE=${namespace}" -P "${generator}"
        DEPENDS ${scripts} ${around} "${generator}"
        COMMENT "Embedding the Lua scripts of ${folder}"
        VERBATIM)
    add_custom_target(${target}_scripts DEPENDS "${output}")
    add_dependencies(${target} ${target}_scripts)
    target_include_directories(${target} PUBLIC "${PROJECT_BINARY_DIR}/generated/include")
endfunction()
