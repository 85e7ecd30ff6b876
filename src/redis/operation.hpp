// A command on its way, and what its submitter asked for.
#pragma once

#include "redis/command.hpp"
#include "redis/outcome.hpp"
#include "redis/script.hpp"

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

// One or several encoded commands that must not be torn apart.
struct request {
    std::string bytes;
    time_point deadline;
    reply_handler done;
    // Several commands are answered by one array of their replies, in order.
    unsigned replies = 1;
    // The text of the script, if `bytes` is one EVALSHA: sent in full should the server not have it.
    std::string_view script{};
    // In a cluster: where its keys are, and how often it was sent on to another server.
    std::uint16_t slot = 0;
    std::uint8_t redirections = 0;
    bool waits = false;  // holds up what follows it on its connection
};

// Sees each request that the server refused, or that ended because its connection was closed for good, before
// its handler does. May take it over: true, and then it sees to it that the handler is called. May change the
// outcome.
using redirector = std::function<bool(request&, outcome&)>;

[[nodiscard]] inline request command_request(std::span<const std::string_view> args, time_point deadline,
                                             reply_handler done) {
    request r{{}, deadline, std::move(done)};
    append_command(r.bytes, args);
    return r;
}

// With `replicas` WAIT follows the script, which must be there for WAIT to speak of anything: it waits for
// what was written before the latest command of its own connection. So it is sent whole, since "no such
// script" would come too late to mend.
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
