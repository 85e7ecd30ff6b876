// A mutex whose leases are acquired by tasks instead of the calling thread (async.hpp), with the same
// interface: the tests of faults run with it as well.
#pragma once

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <system_error>

namespace holdfast::test {

class task_mutex : public mutex {
  public:
    task_mutex(client& on, const std::string& name, const mutex_options& how = {});
    ~task_mutex();

    lease acquire(const acquire_options& options = {});
    lease acquire(const acquire_options& options, std::error_code& ec);
    lease try_acquire(const acquire_options& options = {});
    lease try_acquire(const acquire_options& options, std::error_code& ec);
    lease try_acquire_for(std::chrono::milliseconds wait, const acquire_options& options = {});
    lease try_acquire_for(std::chrono::milliseconds wait, const acquire_options& options,
                          std::error_code& ec);
    lease acquire(std::error_code& ec) { return acquire({}, ec); }
    lease try_acquire(std::error_code& ec) { return try_acquire({}, ec); }
    lease try_acquire_for(std::chrono::milliseconds wait, std::error_code& ec) {
        return try_acquire_for(wait, {}, ec);
    }

  private:
    // Asio takes long to compile: only task_mutex.cpp sees it.
    struct tasks;
    std::unique_ptr<tasks> tasks_;
};

}  // namespace holdfast::test
