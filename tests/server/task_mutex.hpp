// A mutex whose leases are acquired by tasks instead of the calling thread (async.hpp), with the same face:
// the tests of faults run with it as well.
#pragma once

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <future>
#include <memory>
#include <utility>

namespace holdfast::test {

class task_mutex : public mutex {
  public:
    using mutex::mutex;

    lease acquire(const acquire_options& options = {}) {
        return got([&](auto token) { async_acquire(*this, options, token); });
    }
    lease acquire(std::error_code& ec, const acquire_options& options = {}) {
        return got([&](auto token) { async_acquire(*this, options, token); }, ec);
    }
    lease try_acquire(const acquire_options& options = {}) {
        return got([&](auto token) { async_try_acquire(*this, options, token); });
    }
    lease try_acquire(std::error_code& ec, const acquire_options& options = {}) {
        return got([&](auto token) { async_try_acquire(*this, options, token); }, ec);
    }
    template <class Wait>
    lease try_acquire_for(const Wait& wait, const acquire_options& options = {}) {
        return got([&](auto token) { async_try_acquire_for(*this, wait, options, token); });
    }
    template <class Wait>
    lease try_acquire_for(const Wait& wait, std::error_code& ec, const acquire_options& options = {}) {
        return got([&](auto token) { async_try_acquire_for(*this, wait, options, token); }, ec);
    }

  private:
    // Codes, not exceptions: thread sanitizer cannot follow how std::exception_ptr counts.
    template <class Begin>
    lease got(Begin begin, std::error_code& ec) {
        const auto told = std::make_shared<std::promise<std::pair<std::error_code, lease>>>();
        auto later = told->get_future();
        begin(boost::asio::bind_executor(*tasks_, [told](const boost::system::error_code& why, lease l) {
            told->set_value({why, std::move(l)});
        }));
        auto end = later.get();
        ec = end.first;
        return std::move(end.second);
    }
    template <class Begin>
    lease got(Begin begin) {
        std::error_code ec;
        auto l = got(begin, ec);
        if (ec) throw error(ec, "by a task");
        return l;
    }

    // Its thread ends with the test: a child that another test forks would inherit its traces.
    std::unique_ptr<boost::asio::thread_pool> tasks_ = std::make_unique<boost::asio::thread_pool>(1);
};

}  // namespace holdfast::test
