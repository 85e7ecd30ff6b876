#include "server/task_mutex.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <future>
#include <memory>
#include <utility>

namespace holdfast::test {

// Its thread ends with the test: a child that another test forks would inherit its traces.
struct task_mutex::tasks {
    // Returns when the operation that `begin` starts has ended.
    template <class Begin>
    lease outcome(std::error_code& ec, Begin begin) {
        // A code, not an exception: thread sanitizer cannot follow how std::exception_ptr counts.
        const auto result = std::make_shared<std::promise<std::pair<std::error_code, lease>>>();
        auto later = result->get_future();
        begin(boost::asio::bind_executor(pool, [result](const boost::system::error_code& why, lease l) {
            result->set_value({why, std::move(l)});
        }));
        auto end = later.get();
        ec = end.first;
        return std::move(end.second);
    }

    boost::asio::thread_pool pool{1};
};

namespace {

// Makes a form that throws from one that takes a code.
template <class Ask>
lease or_throw(Ask ask) {
    std::error_code ec;
    lease l = ask(ec);
    if (ec) throw error(ec, "by a task");
    return l;
}

}  // namespace

task_mutex::task_mutex(client& on, const std::string& name, const mutex_options& how)
    : mutex{on, name, how}, tasks_{std::make_unique<tasks>()} {}
task_mutex::~task_mutex() = default;

lease task_mutex::acquire(const acquire_options& options, std::error_code& ec) {
    return tasks_->outcome(ec, [&](auto token) { async_acquire(*this, options, token); });
}
lease task_mutex::try_acquire(const acquire_options& options, std::error_code& ec) {
    return tasks_->outcome(ec, [&](auto token) { async_try_acquire(*this, options, token); });
}
lease task_mutex::try_acquire_for(std::chrono::milliseconds wait, const acquire_options& options,
                                  std::error_code& ec) {
    return tasks_->outcome(ec, [&](auto token) { async_try_acquire_for(*this, wait, options, token); });
}

lease task_mutex::acquire(const acquire_options& options) {
    return or_throw([&](std::error_code& ec) { return acquire(options, ec); });
}
lease task_mutex::try_acquire(const acquire_options& options) {
    return or_throw([&](std::error_code& ec) { return try_acquire(options, ec); });
}
lease task_mutex::try_acquire_for(std::chrono::milliseconds wait, const acquire_options& options) {
    return or_throw([&](std::error_code& ec) { return try_acquire_for(wait, options, ec); });
}

}  // namespace holdfast::test
