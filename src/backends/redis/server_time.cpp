#include "backends/redis/server_time.hpp"

#include "backends/redis/wire/reply_mapping.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using backend::clock_reading;
using backend::failure;

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

// TIME answers with seconds and microseconds.
std::optional<std::int64_t> microseconds_in(const redis::reply& r) {
    if (r.items().size() != 2) return std::nullopt;
    const auto seconds = whole_number(r.items()[0].text());
    const auto micros = whole_number(r.items()[1].text());
    if (!seconds || !micros) return std::nullopt;
    return *seconds * 1'000'000 + *micros;
}

failure why_none(const redis::outcome& o) {
    if (const auto* const no = std::get_if<redis::not_sent>(&o)) return {no->code, no->text};
    if (const auto* const no = std::get_if<redis::no_answer>(&o)) return {no->code, no->text};
    const auto& r = std::get<redis::reply>(o);
    if (r.is_error()) return failure{refusal(r.text()).why()};
    return {make_error_code(errc::bad_reply), "TIME did not answer with two numbers", {}};
}

}  // namespace

void read_clocks(redis::database& on, backend::time_point deadline,
                 backend::handler<backend::result<std::vector<clock_reading>>> done) {
    static constexpr std::array time{std::string_view{"TIME"}};
    const auto sent = boot_clock::now();
    using servers = std::vector<redis::database::server_outcome>;
    const auto to = std::make_shared<decltype(done)>(std::move(done));
    on.command_everywhere(time, deadline, [sent, to](const servers& all) {
        const auto got = boot_clock::now();
        std::vector<clock_reading> read;
        for (const auto& one : all) {
            const auto* const r = std::get_if<redis::reply>(&one.what);
            const auto at = r != nullptr ? microseconds_in(*r) : std::nullopt;
            if (!at) return (*to)(why_none(one.what));
            read.push_back(backend::read_between(sent, got, *at));
        }
        (*to)(std::move(read));
    });
}

}  // namespace holdfast::redis_backend
