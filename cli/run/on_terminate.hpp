// Handles an exception that leaves any thread of the process.
#pragma once

#include <cstdlib>
#include <exception>

namespace holdfast::cli {

// While it exists, `handle` gets the exception in place of std::terminate(); there may be no memory. One at a
// time.
class on_terminate {
  public:
    using handler = void (*)(const std::exception&) noexcept;

    explicit on_terminate(handler handle) {
        handle_ = handle;
        before_ = std::set_terminate(terminate);
    }
    on_terminate(const on_terminate&) = delete;
    on_terminate& operator=(const on_terminate&) = delete;
    ~on_terminate() { std::set_terminate(before_); }

  private:
    [[noreturn]] static void terminate() {
        if (std::current_exception()) {
            try {
                throw;
            } catch (const std::exception& why) {
                handle_(why);
            } catch (...) {
            }
        }
        before_();
        std::abort();
    }

    static inline handler handle_ = nullptr;
    static inline std::terminate_handler before_ = nullptr;
};

}  // namespace holdfast::cli
