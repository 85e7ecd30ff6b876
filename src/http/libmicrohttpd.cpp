#include "http/libmicrohttpd.hpp"

#include "base/client_library.hpp"

namespace holdfast::http {

namespace {

libmicrohttpd open_library() {
    const base::client_library file{"libmicrohttpd.so.12", "config::metrics_listen",
                                    "install libmicrohttpd 0.9.59 or later (Debian: libmicrohttpd12)"};
    libmicrohttpd all;
#define HOLDFAST_LIBMICROHTTPD_LOAD(name) \
    all.name = reinterpret_cast<decltype(all.name)>(file.function(#name));
    HOLDFAST_LIBMICROHTTPD(HOLDFAST_LIBMICROHTTPD_LOAD)
#undef HOLDFAST_LIBMICROHTTPD_LOAD
    return all;
}

}  // namespace

const libmicrohttpd& microhttpd() {
    static const libmicrohttpd all = open_library();
    return all;
}

}  // namespace holdfast::http
