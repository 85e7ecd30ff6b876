#include <holdfast/shared_mutex.hpp>

#include "session/cell.hpp"
#include "session/core.hpp"

#include <holdfast/client.hpp>

#include <variant>

namespace holdfast {

namespace {

using session::acquisition;
using answer = std::variant<std::shared_ptr<session::hold>, session::failed>;

[[noreturn]] void raise(const session::failed& f) { throw error(f.why, f.sentence, f.server_text); }

// "Somebody else has it" is an answer, not an error.
lease lease_or_no(answer o) {
    if (auto* got = std::get_if<std::shared_ptr<session::hold>>(&o)) return lease{std::move(*got)};
    const auto& f = std::get<session::failed>(o);
    if (f.why != errc::timed_out) raise(f);
    return {};
}

lease lease_or_code(answer o, std::error_code& ec) {
    ec.clear();
    if (auto* got = std::get_if<std::shared_ptr<session::hold>>(&o)) return lease{std::move(*got)};
    const auto& f = std::get<session::failed>(o);
    if (f.why != errc::timed_out) ec = f.why;
    return {};
}

}  // namespace

namespace detail {

namespace {

constexpr auto forever = boot_clock::time_point::max();

}  // namespace

exclusive::exclusive(client& on, lock_name name, layout keys, choices chosen) : chosen_(chosen) {
    on.session()->check_usable();
    static_assert(static_cast<int>(layout::shared_write) == static_cast<int>(backend::kind::shared_write));
    const auto kind = static_cast<backend::kind>(keys);  // the same list, in a header that knows no stores
    if (chosen_.ttl && *chosen_.ttl <= std::chrono::milliseconds::zero()) {
        throw error(errc::invalid_argument, "a ttl must be 1 ms or more");
    }
    cell_ = on.session()->cell_of({kind, std::move(name)});
}

exclusive::~exclusive() = default;

const lock_name& exclusive::name() const noexcept { return cell_->name(); }

// How a call is made: its own options first, then those of the lock.
acquisition exclusive::how_(std::optional<time_point> give_up_at, const acquire_options* options) const {
    acquisition how;
    how.give_up_at = give_up_at;
    how.poll = chosen_.poll;
    how.ttl = chosen_.ttl;
    how.renew = chosen_.renew;
    how.by_thread = options == nullptr;
    if (options == nullptr) return how;
    if (options->ttl) {
        how.ttl = options->ttl;
        how.renew.reset();
    }
    if (options->renew) how.renew = options->renew;
    how.stop = options->stop;
    return how;
}

// Not in the header, which would have to include <variant>.
struct exclusive::outcome : answer {};

exclusive::outcome exclusive::acquire_(std::optional<time_point> give_up_at, const acquire_options* options) {
    cell_->client().check_usable();
    if (give_up_at == time_point::min()) give_up_at.reset();  // a wait of nothing is one try
    return {cell_->acquire(how_(give_up_at, options))};
}

void exclusive::lock() {
    const auto o = acquire_(forever, nullptr);
    if (const auto* f = std::get_if<session::failed>(&o)) raise(*f);
}

bool exclusive::try_lock() { return try_lock_until_(time_point::min()); }

bool exclusive::try_lock_until_(time_point until) {
    const auto o = acquire_(until, nullptr);
    const auto* f = std::get_if<session::failed>(&o);
    if (f != nullptr && f->why != errc::timed_out) raise(*f);
    return f == nullptr;
}

void exclusive::unlock() noexcept { cell_->unlock(); }

lease exclusive::acquire(const acquire_options& options) {
    auto o = acquire_(forever, &options);
    if (const auto* f = std::get_if<session::failed>(&o)) raise(*f);
    return lease_or_no(std::move(o));
}

lease exclusive::acquire(std::error_code& ec, const acquire_options& options) {
    return try_acquire_until_(forever, ec, options);
}

lease exclusive::try_acquire(const acquire_options& options) {
    return try_acquire_until_(time_point::min(), options);
}

lease exclusive::try_acquire(std::error_code& ec, const acquire_options& options) {
    return try_acquire_until_(time_point::min(), ec, options);
}

lease exclusive::try_acquire_until_(time_point until, const acquire_options& options) {
    return lease_or_no(acquire_(until, &options));
}

lease exclusive::try_acquire_until_(time_point until, std::error_code& ec, const acquire_options& options) {
    try {
        return lease_or_code(acquire_(until, &options), ec);
    } catch (const error& e) {  // a client that has ended, perhaps just now
        ec = e.code();
        return {};
    }
}

lease exclusive::nested_(const lease& outer) {
    cell_->client().check_usable();
    if (!outer)
        throw error(errc::not_owner, "an empty lease was given for the lock \"" + name().printable() + "\"");
    return lease_or_no(cell_->reenter(*outer.hold()));
}

lease exclusive::beside_(const lease& other, const acquire_options& options) {
    cell_->client().check_usable();
    if (!other)
        throw error(errc::not_owner, "an empty lease was given for the lock \"" + name().printable() + "\"");
    return lease_or_no(cell_->acquire_beside(*other.hold(), how_(forever, &options)));
}

bool exclusive::held_by_this_thread() const noexcept { return cell_->held_here() != nullptr; }

bool exclusive::valid() const noexcept {
    const auto t = cell_->held_here();
    return t != nullptr && t->valid();
}

fence exclusive::held_fence() const noexcept {
    const auto t = cell_->held_here();
    return t != nullptr ? t->token : fence::none;
}

}  // namespace detail

mutex::mutex(client& on, lock_name name, mutex_options options)
    : exclusive(on, std::move(name), options.fenced ? layout::native_fenced : layout::native,
                {options.ttl, options.renew, false}) {}

recursive_mutex::recursive_mutex(client& on, lock_name name, recursive_options options)
    : exclusive(on, std::move(name), layout::recursive,
                {options.ttl, options.renew, options.wake == wake::poll}) {}

fenced_mutex::fenced_mutex(client& on, lock_name name, fenced_options options)
    : exclusive(on, std::move(name), layout::recursive_fenced, {options.ttl, options.renew, false}) {}

fair_mutex::fair_mutex(client& on, lock_name name, fair_options options)
    : exclusive(on, std::move(name), layout::fair, {options.ttl, options.renew, false}) {}

shared_mutex::shared_mutex(client& on, lock_name name, shared_options options)
    : exclusive(on, name, layout::shared_write, {options.ttl, options.renew, false}),
      readers_(on, std::move(name), options) {}

shared_mutex::reader_side::reader_side(client& on, lock_name name, const shared_options& options)
    : exclusive(on, std::move(name), layout::shared_read, {options.ttl, options.renew, false}) {}

}  // namespace holdfast
