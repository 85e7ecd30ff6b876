// A thread of a client process.
#pragma once

#include "chaos/history/recorder.hpp"
#include "chaos/runner/dice.hpp"
#include "chaos/runner/resource.hpp"
#include "chaos/runner/subject.hpp"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>

namespace holdfast::chaos {

// What the threads of a process share, and when they work. Thread-safe.
class process_state {
  public:
    // `only`: uses the locks whose name contains this. Throws std::runtime_error if there is none.
    process_state(subject_set& all_subjects, std::vector<run_lock> all, resource& guards,
                  std::uint32_t number, std::chrono::milliseconds one_lease, const std::string& only);

    // Begins a round, recorded into `file`.
    void open(const std::filesystem::path& file);
    // Stops new operations. Returns when those under way are over.
    void close();
    // Ends the threads.
    void end();

    // For threads. False: the thread must end. Between a `true` and `leave` the recorder exists.
    [[nodiscard]] bool enter();
    void leave();
    [[nodiscard]] bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
    void write(event e) noexcept;
    [[nodiscard]] std::uint64_t next_hold() noexcept {
        return process * 10'000'000ULL + serial_.fetch_add(1) + 1;
    }

    subject_set& subjects;
    const std::vector<run_lock> locks;
    const std::vector<std::size_t> used;  // places in `locks`
    resource& guarded;
    const std::uint32_t process;
    const std::chrono::milliseconds lease;

  private:
    std::atomic<std::uint64_t> serial_{0};
    std::atomic<bool> closing_{true};

    std::mutex mutex_;
    std::condition_variable changed_;
    std::unique_ptr<recorder> recorder_;  // changes only while inside_ is 0
    unsigned inside_ = 0;
    bool ended_ = false;
};

// One operation after another: acquires a lock, looks at it, writes under it, releases it.
class worker {
  public:
    worker(process_state& state, unsigned thread, dice chance)
        : state_(state), thread_(thread), chance_(chance) {}

    void run();

  private:
    struct held {
        std::unique_ptr<grant> by;
        event last;  // its acquire, the template of all its later events
    };

    void one_operation();
    countdown::outcome use_latch(std::size_t lock, action what, std::int64_t amount, time_ns wait);
    void one_use_of_latch(std::size_t lock);
    // Without this, waiters without a limit would wait for ever once the other threads stop.
    void open_latches();
    [[nodiscard]] request draw_request(const run_lock& lock);
    // Writes down the answer to a request for a hold.
    void record(held& h, answer got);
    [[nodiscard]] held acquire(std::size_t lock, const request& how);
    void nest(std::size_t lock, std::vector<held>& all);
    void change_the_lease(std::size_t lock, std::vector<held>& all);
    void work(std::size_t lock, const held& one);
    bool look(const held& one);
    void await_loss_report(const held& one);
    void write(std::size_t lock, const held& one);
    void release(held& one);
    void pause(std::chrono::microseconds longest);
    void note(const held& one, action a, phase p, time_ns t, time_ns deadline = 0);

    process_state& state_;
    const unsigned thread_;
    dice chance_;
};

}  // namespace holdfast::chaos
