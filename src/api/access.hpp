// The library's own way into the objects of users.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>

#include <memory>
#include <utility>

namespace holdfast::detail {

class access {
  public:
    [[nodiscard]] static const std::shared_ptr<session::client_state>& state_of(const client& c) noexcept {
        return c.state_;
    }
    // Null: it does not listen.
    [[nodiscard]] static const std::shared_ptr<http::metrics_server>& metrics_of(const client& c) noexcept {
        return c.metrics_;
    }
    // Empty for an empty lease.
    [[nodiscard]] static const std::shared_ptr<session::hold>& hold_of(const lease& of) noexcept {
        return of.hold_;
    }
    [[nodiscard]] static std::shared_ptr<session::hold> take(lease& from) noexcept {
        return std::exchange(from.hold_, nullptr);
    }
    [[nodiscard]] static lease lease_of(std::shared_ptr<session::hold> hold) noexcept {
        return lease{std::move(hold)};
    }
};

}  // namespace holdfast::detail
