// A command on its way to the server, with the handler for its reply.
#pragma once

#include "redis/protocol/command.hpp"
#include "redis/protocol/outcome.hpp"
#include "redis/protocol/script.hpp"

#include <holdfast/replication.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis {

// One or several encoded commands that must stay together.
struct request {
    std::string bytes;
    time_point deadline;
    reply_handler done;
    // The outcome of several commands is one array of their replies, in order.
    unsigned replies = 1;
    // The text of the script if `bytes` is one EVALSHA: sent whole if the server does not have it.
    std::string_view script{};
    // In a cluster: the slot of its keys, and how often it was redirected.
    std::uint16_t slot = 0;
    std::uint8_t redirections = 0;
    bool waits = false;  // blocks what follows it on its connection
};

// Called before the handler of a request that the server refused, or that ended because its connection was
// closed for good. Returns true to take the request over; then it must have the handler called. May change
// the outcome.
using redirector = std::function<bool(request&, outcome&)>;

[[nodiscard]] inline request command_request(std::span<const std::string_view> args, time_point deadline,
                                             reply_handler done) {
    request r{{}, deadline, std::move(done)};
    append_command(r.bytes, args);
    return r;
}

// With `replicas` WAIT follows the script. WAIT waits for what its own connection wrote before, so the script
// must run. It is therefore sent whole: a NOSCRIPT would come too late for a second try.
[[nodiscard]] inline request script_request(const script_ref& script, std::span<const std::string_view> keys,
                                            std::span<const std::string_view> args, time_point deadline,
                                            reply_handler done, const replication& replicas = {}) {
    request r{{}, deadline, std::move(done)};
    append_evalsha(r.bytes, script.sha1, keys, args);
    if (replicas.at_least == 0) {
        r.script = script.text;
        return r;
    }
    r.bytes = as_eval(r.bytes, script.text);
    append_command(r.bytes, std::string_view{"WAIT"}, replicas.at_least, replicas.within.count());
    r.replies = 2;
    r.waits = true;
    return r;
}

// Lives on the heap and belongs to the link, so that a caller can give up by just leaving.
struct operation {
    request what;
    bool caller_reads = false;  // its thread is about to call run_io()
    std::vector<reply> so_far;  // if there are several replies
    time_point sent_at{};
    std::uint64_t first_byte = 0;  // its position in the connection's stream
    std::uint64_t past_last_byte = 0;

    // True if the server cannot have executed any of it: the kernel was not given the last byte of a single
    // command, or the first byte of several.
    [[nodiscard]] bool untouched(std::uint64_t bytes_sent) const noexcept {
        return so_far.empty() && (what.replies == 1 ? past_last_byte > bytes_sent : first_byte >= bytes_sent);
    }

    void finish(outcome&& o) noexcept {
        if (what.done) what.done(std::move(o));
    }

    std::unique_ptr<operation> next;  // for operation_queue
};

// First in, first out. Allocates nothing.
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
    // Moves all of `other` to the end.
    void append(operation_queue& other) noexcept {
        while (!other.empty()) push_back(other.pop_front());
    }
    void swap(operation_queue& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(size_, other.size_);
    }
    // One by one, because the destructor of a long chain would recurse.
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
