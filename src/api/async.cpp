#include <holdfast/async_access.hpp>

#include "api/access.hpp"
#include "api/counter.hpp"
#include "session/async_operations.hpp"

namespace holdfast::detail {

using outcome = session::lockable::outcome;

async_access::request::request(const leasable& lock, const acquire_options& options)
    : of_(lock.on_), how_(std::make_shared<const session::acquisition>(lock.how_(std::nullopt, &options))) {}

async_access::under_way async_access::acquire(const request& what, time_point give_up_at, acquired done) {
    auto how = *what.how_;
    if (give_up_at != time_point::min()) how.give_up_at = give_up_at;  // a wait of zero is one attempt
    under_way u;
    u.of_ = what.of_->acquire_later(how, [done = std::move(done)](outcome o) mutable {
        if (auto* got = std::get_if<std::shared_ptr<session::hold>>(&o)) {
            (*got)->unattended = true;
            return done({}, access::lease_of(std::move(*got)));
        }
        const auto& why = std::get<session::failed>(o).why;
        done(why == errc::timed_out ? std::error_code{} : why, {});
    });
    return u;
}

void async_access::under_way::cancel() const {
    if (const auto b = of_.lock()) b->cancel();
}

void async_access::release(lease held, released done) {
    if (!held) return done({});
    const auto h = access::take(held);
    h->release_later(std::move(done));
}

async_access::request async_access::wait_for(const latch& of) {
    return {static_cast<const leasable&>(of), {}};
}

void async_access::count_down(const request& of, std::int64_t by, counted done) {
    const auto& lock = static_cast<const session::client_lock&>(*of.of_);  // a latch has one client_lock
    auto& state = lock.client();
    const session::client_state::call here(state);
    if (by < 1 || by > largest_count) return done(errc::invalid_argument, 0);
    if (!state.usable()) return done(state.forked() ? errc::forked : errc::closed, 0);
    backend::adjust_request what{
        lock.key(), backend::adjustment::count_down, by, state.store().new_owner(lock.key().of, 1), {}};
    session::adjust_later(state.shared_from_this(), std::move(what),
                          [done = std::move(done)](const backend::adjust_answer& a) {
                              if (const auto* no = std::get_if<backend::refused>(&a))
                                  return done(no->code, 0);
                              if (const auto* no = std::get_if<backend::unknown>(&a))
                                  return done(no->code, 0);
                              done({}, std::get<backend::adjusted>(a).value);
                          });
}

}  // namespace holdfast::detail
