#include <holdfast/multi_lock.hpp>

#include "api/access.hpp"
#include "session/client_state.hpp"
#include "session/group.hpp"

#include <algorithm>
#include <utility>

namespace holdfast {

namespace {

void add_flat(std::vector<session::group::member>& to, const std::shared_ptr<session::lockable>& one,
              const session::acquisition& how) {
    const auto* const several = dynamic_cast<const session::group*>(one.get());
    if (several == nullptr) {
        to.push_back({std::static_pointer_cast<session::client_lock>(one), how, to.size()});
        return;
    }
    for (const auto& inner : several->members()) to.push_back({inner.of, inner.how, to.size()});
}

// Returns `what` of each lock's hold in `held`, in the order in which the locks were given.
template <class T>
std::vector<T> of_each(const session::group& locks, const session::hold* held,
                       T (session::hold::*what)() const noexcept) {
    const auto& members = locks.members();
    const auto* const all = dynamic_cast<const session::hold_of_all*>(held);
    const auto is_on = [](const std::shared_ptr<session::hold>& part, const session::group::member& one) {
        return static_cast<const session::hold_of_one&>(*part).in == one.of;
    };
    if (all == nullptr || !std::ranges::equal(all->parts(), members, is_on))
        throw error(errc::not_owner, "the lease given is not one of this multi_lock");
    std::vector<T> each(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) each[members[i].given_at] = (*all->parts()[i].*what)();
    return each;
}

}  // namespace

multi_error::multi_error(std::error_code code, const std::string& sentence, const std::string& server_text,
                         std::shared_ptr<const std::vector<member_outcome>> members)
    : error(code, sentence, server_text), members_(std::move(members)) {}

multi_error::~multi_error() = default;

multi_lock::multi_lock(std::span<const leasable* const> locks, multi_options options)
    : exclusive_lock(
          [&] {
              std::vector<session::group::member> members;
              for (const auto* const one : locks) add_flat(members, one->on_, one->how_({}, nullptr));
              if (options.patience < std::chrono::milliseconds{1})
                  throw error(errc::invalid_argument, "multi_options::patience must be 1 ms or more");
              return std::make_shared<session::group>(std::move(members), options.patience,
                                                      std::move(options.on_wait));
          }(),
          {}) {}

const session::group& multi_lock::group() const noexcept { return static_cast<const session::group&>(on()); }

std::size_t multi_lock::size() const noexcept { return group().members().size(); }

std::vector<fence> multi_lock::fences(const lease& held) const {
    return of_each<fence>(group(), detail::access::hold_of(held).get(), &session::hold::fence);
}

std::vector<lease_state> multi_lock::states(const lease& held) const {
    return of_each<lease_state>(group(), detail::access::hold_of(held).get(), &session::hold::state);
}

}  // namespace holdfast
