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

// Called by the thread that drives, in this order: begin_turn; as the reader any number of poll_for and
// read_some; end_turn. The object outlives the turn.
class drivable {
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

    drivable() = default;
    drivable(const drivable&) = delete;
    drivable& operator=(const drivable&) = delete;
    virtual ~drivable() = default;

    [[nodiscard]] virtual part begin_turn(parked_caller& me) = 0;
    // Sends what is waiting to be sent. Valid until the next call, which notices a new or a lost connection.
    [[nodiscard]] virtual interest poll_for() = 0;
    // Reads what has arrived: handlers run here.
    virtual void read_some() = 0;
    virtual void end_turn(part was, parked_caller& me) = 0;
};

// A store with one such connection. For stores that consist of several stores.
class driven_store {
  public:
    driven_store() = default;
    driven_store(const driven_store&) = delete;
    driven_store& operator=(const driven_store&) = delete;
    virtual ~driven_store() = default;

    [[nodiscard]] virtual drivable& connection() noexcept = 0;
};

inline constexpr std::size_t most_driven = 16;

// Lends the calling thread to all connections until `me` is unparked or `until` has come; may return earlier,
// as backend::store::run_io.
void drive_together(std::span<drivable* const> all, base::parker& me, boot_clock::time_point until);

}  // namespace holdfast::io
