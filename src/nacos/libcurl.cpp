#include "nacos/libcurl.hpp"

#include "base/client_library.hpp"

namespace holdfast::nacos {

namespace {

libcurl open_library() {
    const base::client_library file{"libcurl.so.4", "nacos",
                                    "install libcurl 7.68 or later (Debian: libcurl4)"};
    libcurl all;
#define HOLDFAST_LIBCURL_LOAD(name) all.name = reinterpret_cast<decltype(all.name)>(file.function(#name));
    HOLDFAST_LIBCURL(HOLDFAST_LIBCURL_LOAD)
#undef HOLDFAST_LIBCURL_LOAD
    all.curl_global_init(CURL_GLOBAL_DEFAULT);
    return all;
}

}  // namespace

const libcurl& curl() {
    static const libcurl all = open_library();
    return all;
}

}  // namespace holdfast::nacos
