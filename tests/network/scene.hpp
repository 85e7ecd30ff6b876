// Clients on machines of their own: they receive commands by lines, and report outcomes and times.
#pragma once

#include "network/machines.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using moment = boot_clock::time_point;  // the same on all machines

inline constexpr milliseconds slack = 900ms * slower;
inline constexpr milliseconds lease_length = 2s * slower;
inline constexpr milliseconds poll_gap = 500ms;
// docs/safety.md: the delay by a waiter that was granted the lock and did not learn of it.
inline constexpr milliseconds grant_length = 3s;
// A connection without a reply for this long is closed, and a new one is made.
inline constexpr milliseconds reply_timeout = 1s * slower;

class machines_with_clients : public ::testing::Test {
  protected:
    using addresses = std::vector<std::string>;

    void SetUp() override;

    // A server that can be reached over all cables.
    [[nodiscard]] static redis_server::options reachable_options();
    // redis://ADDRESS:PORT with the times above.
    [[nodiscard]] static std::string url_of(const std::string& address, std::uint16_t port);

    // A client with one mutex, "stock". `url` makes its URL of the addresses.
    [[nodiscard]] static machine client_on_a_machine(const std::function<std::string(const addresses&)>& url,
                                                     milliseconds lease = lease_length,
                                                     std::size_t cables = 1);

    // What a client understands, and reports:
    //   acquire   "got T", however often it must ask
    //   ask       "asked T", and "got T", "unavailable T" or another error and its time
    //   try       "asked T", and "got T" or "no T"
    //   lose      after the loss: "deadline T", "lost T"
    //   look      "valid" or "not valid"
    //   renewals  "renewed N" times so far
    //   release   "released", or "not released"
    static void send_line(machine& m, const std::string& what) { m.process().write(what + "\n"); }
    // The number after the word in its next output.
    static std::int64_t number_after(machine& m, const std::string& word, milliseconds within = patience);
    static moment time_of(machine& m, const std::string& word, milliseconds within = patience) {
        return moment{moment::duration{number_after(m, word, within)}};
    }
    static bool reports(machine& m, const std::string& line, milliseconds within = patience) {
        return m.process().wait_for_output(line + "\n", within);
    }
    static moment acquire(machine& m) {
        send_line(m, "acquire");
        return time_of(m, "got");
    }
    static void release(machine& m) {
        send_line(m, "release");
        EXPECT_TRUE(reports(m, "released"));
    }
    static bool lease_is_valid(machine& m);
    static std::int64_t renewals(machine& m) {
        send_line(m, "renewals");
        return number_after(m, "renewed");
    }
    // Waits for this many more renewals, each with a reply.
    static void await_renewals(machine& m, std::int64_t n) {
        const auto before = renewals(m);
        EXPECT_TRUE(eventually(patience, [&] { return renewals(m) >= before + n; })) << "it is not renewed";
    }
};

// Each client has one cable, and there is one server.
class one_server : public machines_with_clients {
  protected:
    void SetUp() override;

    [[nodiscard]] machine client_on_a_machine(milliseconds lease = lease_length) const;
    // Waits until this many clients are in the queue.
    void await_waiters(std::int64_t n);
    // `holder` acquires the lock, and the others queue behind it in this order.
    void acquire_and_queue(machine& holder, const std::vector<machine*>& waiters) {
        acquire(holder);
        std::int64_t queued = 0;
        for (auto* const w : waiters) {
            send_line(*w, "acquire");
            await_waiters(++queued);
        }
    }
    // When the server lets the lock expire, without another renewal.
    [[nodiscard]] moment key_expiry();
    redis_server& server() { return *server_; }

  private:
    std::optional<redis_server> server_;
};

}  // namespace holdfast::test
