// libmicrohttpd, opened by the first client that listens: a program that never listens needs no copy of it.
#pragma once

#include <microhttpd.h>

namespace holdfast::http {

#define HOLDFAST_LIBMICROHTTPD(F)      \
    F(MHD_add_response_header)         \
    F(MHD_create_response_from_buffer) \
    F(MHD_destroy_response)            \
    F(MHD_lookup_connection_value)     \
    F(MHD_queue_response)              \
    F(MHD_quiesce_daemon)              \
    F(MHD_start_daemon)                \
    F(MHD_stop_daemon)

// Its functions, by their own names.
struct libmicrohttpd {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it is the name of a member
#define HOLDFAST_LIBMICROHTTPD_MEMBER(name) decltype(&::name) name = nullptr;
    HOLDFAST_LIBMICROHTTPD(HOLDFAST_LIBMICROHTTPD_MEMBER)
#undef HOLDFAST_LIBMICROHTTPD_MEMBER
};

// Throws holdfast::error (errc::invalid_argument) if the library is not there. It stays open.
[[nodiscard]] const libmicrohttpd& microhttpd();

}  // namespace holdfast::http
