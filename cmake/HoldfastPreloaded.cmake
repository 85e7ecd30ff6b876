# holdfast_preloaded(<library> <source> <comment>): builds a source as a separate library for LD_PRELOAD, which needs only the
# C library. A custom command, because it must not get what all other targets get: sanitizers, the C++ library.
function(holdfast_preloaded library source comment)
    add_custom_command(
        OUTPUT "${library}"
        COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -O2 -fPIC -shared -s -fno-exceptions -fno-rtti
            -o "${library}" "${source}" -nodefaultlibs -lc
        DEPENDS "${source}"
        COMMENT "${comment}"
        VERBATIM)
endfunction()
