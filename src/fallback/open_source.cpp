#include "fallback/open_source.hpp"

#include "fallback/arbiter_source.hpp"
#include "fallback/file_source.hpp"
#ifdef HOLDFAST_HAS_NACOS
#include "fallback/nacos_source.hpp"
#include "nacos/address.hpp"
#include "nacos/libcurl.hpp"
#endif

#include <holdfast/error.hpp>

#include <utility>

namespace holdfast::fallback {

namespace {

constexpr std::string_view of_file = "file:";
constexpr std::chrono::milliseconds arbiter_read_every{5'000};  // from an arbiter

bool is_file(std::string_view url) { return url.starts_with("file:/"); }
bool is_nacos(std::string_view url) {
    return url.starts_with("nacos://") || url.starts_with("nacos+https://");
}

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), "config::switch_source " + why);
}

}  // namespace

void check_source(std::string_view url) {
    if (is_file(url)) return;
    if (is_arbiter(url)) return (void)parse_arbiter(url);
    if (!is_nacos(url))
        refuse(
            "must be \"file:\" and a path from the root, a URL nacos:// or nacos+https://, or \"arbiter:\" "
            "and "
            "the URL of a store");
#ifdef HOLDFAST_HAS_NACOS
    try {
        (void)nacos::parse_address(url);
        (void)nacos::curl();
    } catch (const error& no) {
        refuse(std::string{"cannot be used: "} + no.what());
    }
#else
    refuse("cannot be nacos:// here: this library was built without libcurl or without nlohmann_json");
#endif
}

std::string name_of_source(std::string_view url) {
    if (is_arbiter(url)) return parse_arbiter(url).shown();
#ifdef HOLDFAST_HAS_NACOS
    if (is_nacos(url)) return nacos::parse_address(url).shown();
#endif
    return std::string{url};
}

std::unique_ptr<source> open_source(io::reactor& on, const config& of_client, store_opener open,
                                    source::handler tell) {
    const std::string_view url = of_client.switch_source;
    check_source(url);
    const auto first_answer = of_client.answer_timeout;
    if (is_arbiter(url))
        return std::make_unique<arbiter_source>(
            on, std::make_unique<arbiter_document>(on, of_client, url, open), first_answer,
            of_client.answer_timeout, arbiter_read_every, std::move(tell));
#ifdef HOLDFAST_HAS_NACOS
    if (is_nacos(url)) return std::make_unique<nacos_source>(on, url, first_answer, std::move(tell));
#endif
    return std::make_unique<file_source>(on, std::string{url.substr(of_file.size())}, std::move(tell));
}

}  // namespace holdfast::fallback
