#include <holdfast/semaphore.hpp>

#include "api/access.hpp"
#include "api/counter.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"

#include <charconv>
#include <system_error>

namespace holdfast {

using backend::adjustment;
using detail::adjust;
using detail::check_size;

namespace {

void check_total(std::int64_t permits) {
    if (permits < 0) throw error(errc::invalid_argument, "the number of permits must be 0 or more");
    check_size(permits);
}

}  // namespace

semaphore_base::semaphore_base(client& on, lock_name name, kind of, const semaphore_options& options)
    : leasable(on, std::move(name), of,
               {options.ttl, options.renew, false, options.total, options.replicas}) {
    if (!options.total) return;
    check_total(*options.total);
    total_ = *options.total;
}

bool semaphore_base::try_set_permits(std::int64_t permits) {
    check_total(permits);
    return adjust(client_lock(), adjustment::set_if_unset, permits) == 1;
}

std::int64_t semaphore_base::add_permits(std::int64_t permits) {
    check_size(permits);
    return adjust(client_lock(), adjustment::add, permits);
}

std::int64_t semaphore_base::available_permits() { return adjust(client_lock(), adjustment::read, total_); }

namespace {

// The digits of the UUID in "_c_<UUID>-lease-<number>", a node of ZooKeeper; else the id itself.
std::string without_node(std::string_view id) {
    constexpr std::string_view mark = "_c_";
    const auto end = id.rfind("-lease-");
    if (!id.starts_with(mark) || end == std::string_view::npos) return std::string{id};
    std::string digits{id.substr(mark.size(), end - mark.size())};
    std::erase(digits, '-');
    return digits;
}

// "<32 hexadecimal digits>", for several permits followed by "*<how many>".
bool is_owner(std::string_view text) {
    constexpr std::size_t digits = 32;
    if (text.size() < digits || base::from_hex(text.substr(0, digits)).empty()) return false;
    if (text.size() == digits) return true;
    std::uint32_t permits = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, ec] = std::from_chars(text.data() + digits + 1, last, permits);
    return text[digits] == '*' && ec == std::errc{} && end == last && permits > 1 &&
           permits <= engine::rules_of(backend::kind::permit_semaphore).most_permits;
}

}  // namespace

counting_semaphore::counting_semaphore(client& on, lock_name name, semaphore_options options)
    : semaphore_base(on, std::move(name), kind::semaphore, options) {}

std::int64_t counting_semaphore::drain_permits() { return detail::adjust(client_lock(), adjustment::drain); }

void counting_semaphore::take(std::uint32_t permits, const std::stop_token& stop) {
    (void)take_until_(time_point::max(), permits, stop);
}

bool counting_semaphore::try_take(std::uint32_t permits) {
    return take_until_(time_point::min(), permits, {});
}

// First as a lease: if this process ends before it owns the permits for good, they come back.
bool counting_semaphore::take_until_(time_point until, std::uint32_t permits, const std::stop_token& stop) {
    const auto& of = client_lock();
    of.check_usable();
    if (!of.store().has().permits_without_owner)
        throw error(errc::invalid_argument, "permits of \"" + name().printable() +
                                                "\" can be held by a lease only: its store may change");
    const lease mine = try_acquire_until_(until, {.stop = stop, .permits = permits});
    if (!mine) return false;
    if (detail::number_or_raise(client_lock(), client_lock().disown(static_cast<session::hold_of_one&>(
                                                   *detail::access::hold_of(mine)))) == 1)
        return true;
    throw error(errc::lost, "permits of \"" + name().printable() + "\" arrived too late to be kept");
}

void counting_semaphore::give(std::uint32_t permits) {
    if (permits == 0) throw error(errc::invalid_argument, "the number of permits must be 1 or more");
    detail::adjust(client_lock(), adjustment::add, permits);
}

permit_semaphore::permit_semaphore(client& on, lock_name name, semaphore_options options)
    : semaphore_base(on, std::move(name), kind::permit_semaphore, options) {}

bool permit_semaphore::release(std::string_view given) {
    const auto id = without_node(given);
    if (!is_owner(id)) {
        throw error(errc::invalid_argument,
                    "the id of a permit is 32 hexadecimal digits in lower case, and \"" +
                        base::printable(given) + "\" was given");
    }
    return detail::adjust(client_lock(), adjustment::release, 0, owner_id{id}) >= 0;
}

}  // namespace holdfast
