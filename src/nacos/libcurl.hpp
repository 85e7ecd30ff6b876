// libcurl, opened by the first URL that needs it: programs that use no Nacos do not need to have it.
#pragma once

#include <curl/curl.h>

namespace holdfast::nacos {

#define HOLDFAST_LIBCURL(F)     \
    F(curl_easy_cleanup)        \
    F(curl_easy_getinfo)        \
    F(curl_easy_init)           \
    F(curl_easy_setopt)         \
    F(curl_easy_strerror)       \
    F(curl_global_init)         \
    F(curl_multi_add_handle)    \
    F(curl_multi_cleanup)       \
    F(curl_multi_info_read)     \
    F(curl_multi_init)          \
    F(curl_multi_perform)       \
    F(curl_multi_poll)          \
    F(curl_multi_remove_handle) \
    F(curl_multi_wakeup)        \
    F(curl_slist_append)        \
    F(curl_slist_free_all)

// Its functions, by their own names.
struct libcurl {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it is the name of a member
#define HOLDFAST_LIBCURL_MEMBER(name) decltype(&::name) name = nullptr;
    HOLDFAST_LIBCURL(HOLDFAST_LIBCURL_MEMBER)
#undef HOLDFAST_LIBCURL_MEMBER
};

// Throws holdfast::error (errc::invalid_argument) if the library is not there, or is older than version 7.68,
// where curl_multi_wakeup() began. It stays open.
[[nodiscard]] const libcurl& curl();

}  // namespace holdfast::nacos
