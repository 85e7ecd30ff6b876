// A mutex whose leases are acquired by tasks instead of the calling thread (async.hpp), with the same face:
// the tests of faults run with it as well.
#pragma once

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

#include <boost/asio/use_future.hpp>

#include <future>

namespace holdfast::test {

class task_mutex : public mutex {
  public:
    using mutex::mutex;

    lease acquire(const acquire_options& options = {}) { return got(async_acquire(*this, options, use)); }
    lease acquire(std::error_code& ec, const acquire_options& options = {}) {
        return got(async_acquire(*this, options, use), ec);
    }
    lease try_acquire(const acquire_options& options = {}) {
        return got(async_try_acquire(*this, options, use));
    }
    lease try_acquire(std::error_code& ec, const acquire_options& options = {}) {
        return got(async_try_acquire(*this, options, use), ec);
    }
    template <class Wait>
    lease try_acquire_for(const Wait& wait, const acquire_options& options = {}) {
        return got(async_try_acquire_for(*this, wait, options, use));
    }
    template <class Wait>
    lease try_acquire_for(const Wait& wait, std::error_code& ec, const acquire_options& options = {}) {
        return got(async_try_acquire_for(*this, wait, options, use), ec);
    }

  private:
    static constexpr auto use = boost::asio::use_future;

    static lease got(std::future<lease> f, std::error_code& ec) {
        ec.clear();
        try {
            return f.get();
        } catch (const boost::system::system_error& e) {
            ec = e.code();
            return {};
        }
    }
    static lease got(std::future<lease> f) {
        std::error_code ec;
        auto l = got(std::move(f), ec);
        if (ec) throw error(ec, "by a task");
        return l;
    }
};

}  // namespace holdfast::test
