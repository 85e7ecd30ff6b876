# holdfast_embed_clock_shim(<target>): builds lab/base/clock_shim.cpp by holdfast_preloaded() and embeds its bytes as the constant holdfast::lab::clock_shim in the header lab/base/clock_shim.hpp for <target>. So the
# command has it wherever it is installed.
function(holdfast_embed_clock_shim target)
    set(source "${PROJECT_SOURCE_DIR}/lab/base/clock_shim.cpp")
    set(library "${PROJECT_BINARY_DIR}/generated/clock_shim.so")
    set(header "${PROJECT_BINARY_DIR}/generated/include/lab/base/clock_shim.hpp")
    set(generator "${PROJECT_SOURCE_DIR}/cmake/embed_bytes.cmake")
    holdfast_preloaded("${library}" "${source}" "Building the clock of the lab")
    add_custom_command(
        OUTPUT "${header}"
        COMMAND "${CMAKE_COMMAND}" "-DINPUT=${library}" "-DOUTPUT=${header}" -DNAMESPACE=holdfast::lab -DNAME=clock_shim
            -P "${generator}"
        DEPENDS "${library}" "${generator}"
        COMMENT "Embedding lab/base/clock_shim.hpp"
        VERBATIM)
    add_custom_target(${target}_clock_shim DEPENDS "${header}")
    add_dependencies(${target} ${target}_clock_shim)
endfunction()
