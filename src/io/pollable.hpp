// A connection whose replies are read by the threads that wait for them, for a thread that waits for replies
// of several.
#pragma once

#include "base/wake_fd.hpp"

#include <holdfast/types.hpp>

#include <memory>
#include <span>

namespace holdfast::base {
class parker;
}

namespace holdfast::io {

// A thread that waits while another one reads.
struct parked_caller {
    base::parker* who;
    bool nudged = false;  // and was asked to read itself: it does, or returns to its caller
};

// Called by the thread that runs the I/O, in this order: begin_turn; as the reader any number of poll_for and
// read_some; end_turn. The object outlives the turn.
class pollable {
  public:
    enum class part {
        reader,     // no other thread reads until end_turn
        bystander,  // another reads, or no reply is due: `me` is nudged when that changes
    };
    struct interest {
        int fd = -1;  // -1: there is no connection now
        short events = 0;
        // Only the reader polls it. Points into the object.
        const std::shared_ptr<const base::wake_fd>* wake = nullptr;
    };

    pollable() = default;
    pollable(const pollable&) = delete;
    pollable& operator=(const pollable&) = delete;
    virtual ~pollable() = default;

    [[nodiscard]] virtual part begin_turn(parked_caller& me) = 0;
    // Sends what is waiting to be sent. Valid until the next call, which notices a new or a lost connection.
    [[nodiscard]] virtual interest poll_for() = 0;
    // Reads what has arrived: handlers run here.
    virtual void read_some() = 0;
    virtual void end_turn(part was, parked_caller& me) = 0;
};

// A store with one such connection. For stores that consist of several stores.
class pollable_store {
  public:
    pollable_store() = default;
    pollable_store(const pollable_store&) = delete;
    pollable_store& operator=(const pollable_store&) = delete;
    virtual ~pollable_store() = default;

    [[nodiscard]] virtual pollable& connection() noexcept = 0;
};

inline constexpr std::size_t most_pollables = 16;

// Lends the calling thread to all connections until `me` is unparked or `until` has come; may return earlier,
// as backend::store::run_io.
void poll_together(std::span<pollable* const> all, base::parker& me, boot_clock::time_point until);

}  // namespace holdfast::io
