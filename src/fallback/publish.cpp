#include "fallback/publish.hpp"

#include "base/text.hpp"
#include "fallback/document.hpp"

#include <holdfast/error.hpp>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace holdfast::fallback {

namespace {

using backend::failure;
using backend::register_value;
using answer = arbiter_document::answer;

[[noreturn]] void refuse_document(const std::string& field, const std::string& why) {
    throw error(errc::invalid_argument,
                "the document is not published: " + (field.empty() ? "it" : field) + ' ' + why);
}

// Each request is answered, at its deadline at the latest.
answer wait_for(io::reactor& on, std::function<void(backend::handler<answer>)> request) {
    const auto got = std::make_shared<std::promise<answer>>();
    auto coming = got->get_future();
    on.post(
        [request = std::move(request), got] { request([got](answer a) { got->set_value(std::move(a)); }); });
    return coming.get();
}

register_value value_of(answer got, const std::string& what) {
    if (const auto* const no = std::get_if<failure>(&got))
        throw error(no->code, what + ": " + base::printable(no->in_one()));
    return std::get<register_value>(std::move(got));
}

// The serial of the last document. A bad document has none, so it prevents nothing.
std::optional<std::uint64_t> serial_in(const register_value& there) {
    const auto read = read_document(there.text, std::nullopt);
    const auto* const last = std::get_if<document>(&read);
    return there.version == 0 || last == nullptr ? std::nullopt : last->serial;
}

}  // namespace

bool publish(io::reactor& on, arbiter_document& to, const std::string& text,
             std::chrono::milliseconds answer_timeout) {
    if (text.size() > backend::linearizable_register::longest_text)
        refuse_document({}, "is larger than 8 KiB, which is what an arbiter keeps");
    const auto deadline = [&] { return boot_clock::now() + answer_timeout; };
    const auto read = [&](const std::string& what) {
        return value_of(
            wait_for(on, [&to, until = deadline()](auto done) { to.read(until, std::move(done)); }), what);
    };
    const auto last = read("the last document is not known, so nothing is published");
    const auto serial = serial_in(last);
    const auto good = read_document(text, serial);
    if (const auto* const bad = std::get_if<bad_document>(&good)) refuse_document(bad->field, bad->why);
    if (last.version != 0 && last.text == text) return false;
    const auto next = std::get<document>(good).serial;
    if (serial && !next)
        refuse_document("serial", "is missing; it must be higher than " + std::to_string(*serial));
    if (serial && next == serial)
        refuse_document("serial", "is that of the last document; it must be higher");
    auto after = wait_for(on, [&to, &last, &text, until = deadline()](auto done) {
        to.write(last, text, until, std::move(done));
    });
    const auto* const no = std::get_if<failure>(&after);
    // It may have been written all the same.
    const auto there = no != nullptr && no->code == errc::unknown_outcome
                           ? read("it is not known whether the document was published")
                           : value_of(std::move(after), "the document is not published");
    if (there.text == text) return true;
    if (there.version == last.version)
        throw error(errc::unknown_outcome,
                    "it is not known whether the document was published; look again, or repeat it");
    throw error(errc::lost, "the document is not published: another one was published at the same time");
}

}  // namespace holdfast::fallback
