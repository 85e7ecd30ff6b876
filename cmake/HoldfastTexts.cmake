# holdfast_embed_texts(<target> <header> <namespace> <file>...): each file becomes a constant with its text, named like
# the file without its ending, in a header that is generated at build time and that <target> finds as <header>.
function(holdfast_embed_texts target header namespace)
    set(output "${PROJECT_BINARY_DIR}/generated/include/${header}")
    set(generator "${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake")
    add_custom_command(
        OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" "-DTEXTS=${ARGN}" "-DOUTPUT=${output}" "-DNAMESPACE=${namespace}" -P "${generator}"
        DEPENDS ${ARGN} "${generator}"
        COMMENT "Embedding ${header}"
        VERBATIM)
    add_custom_target(${target}_texts DEPENDS "${output}")
    add_dependencies(${target} ${target}_texts)
    target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated/include")
endfunction()
