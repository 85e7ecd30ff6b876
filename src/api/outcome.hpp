// Maps outcomes of the session to the public interface.
#pragma once

#include "api/access.hpp"
#include "session/client_lock.hpp"

#include <holdfast/error.hpp>
#include <holdfast/multi_lock.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace holdfast {

// A type of its own, so that the public header need not know <variant>.
struct leasable::outcome : std::variant<std::shared_ptr<session::hold>, session::failed> {};

}  // namespace holdfast

namespace holdfast::detail {

inline constexpr auto forever = boot_clock::time_point::max();

[[noreturn]] inline void raise(const session::failed& f) {
    if (f.members) throw multi_error(f.why, f.sentence, f.server_text, f.members);
    throw error(f.why, f.sentence, f.server_text);
}

// That another owner holds the lock is an answer, not an error.
inline lease lease_or_no(std::variant<std::shared_ptr<session::hold>, session::failed> o) {
    if (auto* got = std::get_if<std::shared_ptr<session::hold>>(&o)) return access::lease_of(std::move(*got));
    const auto& f = std::get<session::failed>(o);
    if (f.why != errc::timed_out) raise(f);
    return {};
}

}  // namespace holdfast::detail
