#include "nacos/http.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <string_view>

namespace holdfast::nacos {

namespace {

using std::chrono::milliseconds;

constexpr long connects_within = 4'000;  // ms; a request has a second left then

struct body_reader {
    answer& into;
    std::size_t most;
    bool is_cut = false;
};

std::size_t take_body(char* bytes, std::size_t, std::size_t size, void* reader) {
    auto& to = *static_cast<body_reader*>(reader);
    const auto room = to.most - to.into.body.size();
    to.into.body.append(bytes, std::min(size, room));
    to.is_cut = size > room;
    return to.is_cut ? 0 : size;  // 0 ends the transfer
}

std::size_t take_header(char* bytes, std::size_t, std::size_t size, void* into) {
    constexpr std::string_view wanted = "content-md5:";
    const std::string_view line{bytes, size};
    const auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); };
    if (line.size() > wanted.size() && std::equal(wanted.begin(), wanted.end(), line.begin(), same)) {
        auto value = line.substr(wanted.size());
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        static_cast<answer*>(into)->md5 = value.substr(0, value.find_first_of(" \r\n"));
    }
    return size;
}

}  // namespace

http::http(const address& to)
    : to_(to),
      curl_(curl()),
      multi_(curl_.curl_multi_init(), curl_.curl_multi_cleanup),
      easy_(curl_.curl_easy_init(), curl_.curl_easy_cleanup) {
    if (!multi_ || !easy_) throw std::bad_alloc{};
    auto* const h = easy_.get();
    curl_.curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_.curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, connects_within);
    curl_.curl_easy_setopt(h, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    // A proxy of the environment would receive the password.
    curl_.curl_easy_setopt(h, CURLOPT_PROXY, "");
    curl_.curl_easy_setopt(h, CURLOPT_USERAGENT, "holdfast");
    curl_.curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    // Ends without waiting for a resolver that hangs. An older library ignores it.
    curl_.curl_easy_setopt(h, CURLOPT_QUICK_EXIT, 1L);
#endif
    if (!to_.how.ca.empty()) curl_.curl_easy_setopt(h, CURLOPT_CAINFO, to_.how.ca.c_str());
    curl_.curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body);
    curl_.curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
}

void http::configure(const request& what, answer& into) {
    auto* const h = easy_.get();
    const auto url = (to_.tls ? "https://" : "http://") + to_.servers[what.server] + what.target;
    curl_.curl_easy_setopt(h, CURLOPT_URL, url.c_str());
    if (what.form) {
        curl_.curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, static_cast<long>(what.form->size()));
        curl_.curl_easy_setopt(h, CURLOPT_COPYPOSTFIELDS, what.form->c_str());
    } else {
        curl_.curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
    }
    curl_.curl_easy_setopt(h, CURLOPT_HEADERDATA, &into);
}

reply http::ask(const request& what) {
    const auto until = boot_clock::now() + what.time_limit;
    answer got;
    body_reader reader{got, what.most};
    configure(what, got);
    curl_slist* list = nullptr;
    for (const auto& one : what.headers) list = curl_.curl_slist_append(list, one.c_str());
    const std::unique_ptr<curl_slist, decltype(curl_.curl_slist_free_all)> headers{list,
                                                                                   curl_.curl_slist_free_all};
    auto* const h = easy_.get();
    curl_.curl_easy_setopt(h, CURLOPT_HTTPHEADER, list);
    curl_.curl_easy_setopt(h, CURLOPT_WRITEDATA, &reader);
    curl_.curl_multi_add_handle(multi_.get(), h);
    for (int running = 1; running > 0;) {
        if (curl_.curl_multi_perform(multi_.get(), &running) != CURLM_OK) break;
        if (running > 0 && !wait(until)) break;
    }
    int left = 0;
    const CURLMsg* const done = curl_.curl_multi_info_read(multi_.get(), &left);
    const auto code = done != nullptr ? done->data.result : CURLE_OPERATION_TIMEDOUT;
    curl_.curl_multi_remove_handle(multi_.get(), h);
    long status = 0;
    curl_.curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
    got.status = static_cast<int>(status);
    if (code == CURLE_OK || reader.is_cut) return got;
    if (code == CURLE_OPERATION_TIMEDOUT) return no_answer{"it does not answer in time"};
    return no_answer{curl_.curl_easy_strerror(code)};
}

void http::wait_until(boot_clock::time_point then) {
    while (wait(then)) {
    }
}

bool http::wait(boot_clock::time_point until) {
    const auto left = std::chrono::ceil<milliseconds>(until - boot_clock::now());
    if (left <= milliseconds{0} || stopped()) return false;
    const auto time = static_cast<int>(std::min(left, milliseconds{600'000}).count());
    return curl_.curl_multi_poll(multi_.get(), nullptr, 0, time, nullptr) == CURLM_OK && !stopped();
}

void http::close() {
    easy_.reset();
    const base::guard lock(closing_);
    multi_.reset();
}

void http::stop() noexcept {
    stopped_.store(true);
    const base::guard lock(closing_);
    if (multi_) curl_.curl_multi_wakeup(multi_.get());
}

}  // namespace holdfast::nacos
