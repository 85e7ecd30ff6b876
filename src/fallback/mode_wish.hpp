// What the configuration centre wishes for a store made of stores: one of its levels. The arbiter decides:
// each client that hears the wish proposes the next step, the first one succeeds, and all see it.
#pragma once

#include "base/annotations.hpp"
#include "fallback/wish_course.hpp"
#include "io/reactor.hpp"
#include "store/mode_switch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::fallback {

// Thread-safe. Its work is done on the reactor's thread.
class mode_wish : public std::enable_shared_from_this<mode_wish> {
  public:
    // `in` is used until close().
    mode_wish(io::reactor& on, backend::mode_switch& in, std::chrono::milliseconds answer_timeout)
        : reactor_(on), in_(in), answer_timeout_(answer_timeout) {}

    // Proposes one step after another until the group uses this level alone, or until the next wish. A
    // refused step is proposed again, after a pause. Somebody who moves the mode the other way ends the wish;
    // who says that it shall stay as it is does not.
    void want(std::size_t level, backend::mode_author author);
    // The group changes its mode by itself.
    void want_automatic(backend::mode_author author);
    void close();

  private:
    struct goal {
        std::optional<std::size_t> level;  // empty: automatic
        backend::mode_author author;
        wish_course course{level.value_or(0)};
    };
    void aim_at(goal next);
    void look_in(boot_clock::duration pause);
    void look();
    void on_mode(std::uint64_t of, const backend::result<backend::group_mode>& got);
    [[nodiscard]] backend::handler<backend::result<backend::group_mode>> look_after();

    io::reactor& reactor_;
    backend::mode_switch& in_;
    const std::chrono::milliseconds answer_timeout_;

    // Only the reactor's thread uses these.
    bool closed_ = false;
    bool asks_ = false;         // an answer is under way
    std::uint64_t wishes_ = 0;  // so far
    int refusals_ = 0;          // in a row; more than a few count as a few
    std::optional<goal> goal_;
    io::timer_id timer_;
};

}  // namespace holdfast::fallback
