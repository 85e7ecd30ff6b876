#include "backends/sql/connector.hpp"

#include "base/annotations.hpp"
#include "base/random.hpp"
#include "io/thread.hpp"

#include <holdfast/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace holdfast::sql_backend {

// The thread may outlive everything else here.
struct connector::shared {
    std::optional<base::wake_fd> stop;  // empty: there was no descriptor left, so there is no thread
    base::mutex mutex;
    io::reactor* reactor GUARDED_BY(mutex) = nullptr;  // nullptr: nobody wants the session
    std::function<void(result)> done;                  // on the reactor thread; empty: called, or not wanted
};

connector::connector(io::reactor& reactor, session_maker make, std::function<void(result)> done)
    : with_thread_(std::make_shared<shared>()) {
    {
        const base::guard lock(with_thread_->mutex);
        with_thread_->reactor = &reactor;
    }
    with_thread_->done = std::move(done);
    const auto deliver = [](const std::shared_ptr<shared>& to, result found) {
        const base::guard lock(to->mutex);
        if (to->reactor == nullptr) return;
        to->reactor->post([to, found = std::make_shared<result>(std::move(found))] {
            if (const auto call = std::exchange(to->done, nullptr)) call(std::move(*found));
        });
    };
    const auto work = [to = with_thread_, make = std::move(make), deliver] {
        try {
            deliver(to, make(*to->stop));
        } catch (const session_error& e) {
            deliver(to, e.why());
        } catch (const std::bad_alloc&) {
            deliver(to, failure{make_error_code(errc::unavailable), "there is no memory for a connection"});
        } catch (const std::exception& e) {  // a driver that is not there any more
            deliver(to, failure{make_error_code(errc::unavailable), e.what()});
        }
    };
    try {
        with_thread_->stop.emplace();
        io::start_thread("holdfast-sql", work);
    } catch (const std::system_error& e) {
        deliver(with_thread_,
                failure{make_error_code(errc::unavailable),
                        "there is no descriptor or no thread to connect: " + e.code().message()});
    }
}

connector::~connector() {
    with_thread_->done = nullptr;
    const base::guard lock(with_thread_->mutex);
    with_thread_->reactor = nullptr;
    if (!with_thread_->stop) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(with_thread_->stop->get(), &one, sizeof one);
}

bool needs_operator(const std::error_code& code) noexcept {
    return code == errc::invalid_argument || code == errc::no_permission;
}

std::chrono::nanoseconds pauses::next(bool refused) noexcept {
    constexpr std::chrono::nanoseconds first = std::chrono::milliseconds{50};
    constexpr std::chrono::nanoseconds most = std::chrono::seconds{2};
    const auto ceiling = refused ? most : std::min(first * (std::int64_t{1} << std::min(tries_, 10)), most);
    ++tries_;
    const double part = refused ? 0.5 + 0.5 * base::jitter() : base::jitter();
    return std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(ceiling.count()) * part)};
}

}  // namespace holdfast::sql_backend
