// A command on its way, and what its submitter asked for.
#pragma once

#include "redis/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis {

// One or several encoded commands that must not be torn apart.
struct request {
    std::string bytes;
    time_point deadline;
    reply_handler done;
    // Several commands are answered by one array of their replies, in order.
    unsigned replies = 1;
    // The text of the script, if `bytes` is one EVALSHA: sent in full should the server not have it.
    std::string_view script{};
};

// Lives on the heap and belongs to the link, so that a caller who gives up just goes.
struct operation {
    request what;
    bool driven = false;        // its thread is on its way into drive()
    std::vector<reply> so_far;  // of several replies
    time_point sent_at{};
    std::uint64_t first_byte = 0;  // its place in the connection's stream
    std::uint64_t past_last_byte = 0;

    // The server cannot have carried out any of it: the last byte of its one command, or the first of
    // several, was not given to the kernel.
    [[nodiscard]] bool untouched(std::uint64_t bytes_sent) const noexcept {
        return so_far.empty() && (what.replies == 1 ? past_last_byte > bytes_sent : first_byte >= bytes_sent);
    }

    void finish(outcome&& o) noexcept {
        if (what.done) what.done(std::move(o));
    }

    std::unique_ptr<operation> next;  // of operation_queue
};

// First in, first out, without an allocation of its own.
class operation_queue {
  public:
    operation_queue() = default;
    operation_queue(const operation_queue&) = delete;
    operation_queue& operator=(const operation_queue&) = delete;
    ~operation_queue() { clear(); }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] operation& front() const noexcept { return *first_; }

    void push_back(std::unique_ptr<operation> op) noexcept {
        operation* const added = op.get();
        (empty() ? first_ : last_->next) = std::move(op);
        last_ = added;
        ++size_;
    }
    [[nodiscard]] std::unique_ptr<operation> pop_front() noexcept {
        auto op = std::move(first_);
        first_ = std::move(op->next);
        --size_;
        return op;
    }
    // All of `other` behind what is here.
    void append(operation_queue& other) noexcept {
        while (!other.empty()) push_back(other.pop_front());
    }
    void swap(operation_queue& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(size_, other.size_);
    }
    // One by one: the destructor of a long chain would recurse.
    void clear() noexcept {
        while (!empty()) (void)pop_front();
    }
    template <class F>
    void each(F f) const {
        for (const operation* op = first_.get(); op != nullptr; op = op->next.get()) f(*op);
    }

  private:
    std::unique_ptr<operation> first_;
    operation* last_ = nullptr;  // meaningless when empty
    std::size_t size_ = 0;
};

}  // namespace holdfast::redis
