// Clients of other languages, each a small program that does as it is told.
//
// A request is a line, its answer another one, not always in the same order:
//
//     <id> <thread> <verb> <kind> <name> [argument...]         <id> ok [value]         <id> failed <what it
//     said>
//
// Requests of one thread are done one after another, those of different threads at once: while one waits for
// a lock, others go on. What is called a thread is one wherever owners are threads (Java). The first answer
// has the id 0 and says that the program is ready. When its standard input ends the program ends at once, as
// in a crash.
//
// Locks: lock [lease], try [wait [lease]], unlock, and of Redisson also try_async, force, locked, held,
// holds, owner, lock_token, try_token, token. Times are milliseconds; a lease of 0 is none, and then Redisson
// renews. Redisson has verbs for its semaphores and its latch too: see redisson/Peer.java.
#pragma once

#include "support/child_process.hpp"
#include "support/redis_server.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

// The one redis-server of this test binary. Tests keep apart by their names of locks.
[[nodiscard]] redis_server& interop_server();

// Not thread-safe, as child_process is not.
class peer {
  public:
    using milliseconds = std::chrono::milliseconds;

    // A request under way. Forgetting it is no harm.
    class request {
      public:
        // It was answered, or is within the limit.
        [[nodiscard]] bool ready(milliseconds limit = milliseconds{0});
        // What was answered, without the "ok". Throws if the peer says "failed", or says nothing.
        std::string get();
        // get() of a peer that must fail: what it said.
        std::string failure();

      private:
        friend class peer;
        request(peer& of, std::string id) : of_(&of), id_(std::move(id)) {}
        [[nodiscard]] std::string answer();

        peer* of_;
        std::string id_;
    };

    explicit peer(const std::vector<std::string>& program);

    request ask(std::string_view thread, std::string_view verb, std::string_view kind, std::string_view name,
                const std::vector<long>& arguments = {});
    // ask() and get().
    std::string tell(std::string_view thread, std::string_view verb, std::string_view kind,
                     std::string_view name, const std::vector<long>& arguments = {}) {
        return ask(thread, verb, kind, name, arguments).get();
    }

    // What it said when it was ready: of Redisson the client's uuid.
    [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
    [[nodiscard]] child_process& process() noexcept { return process_; }

  private:
    [[nodiscard]] const std::string* find(const std::string& id, milliseconds limit);

    child_process process_;
    std::size_t read_ = 0;  // of the output
    long asked_ = 0;
    std::map<std::string, std::string> answers_;
    std::string identity_;
};

// The versions of Redisson that fetch.sh fetches.
inline constexpr const char* late_redisson_3 = "3.52.0";
inline constexpr const char* newest_redisson = "4.7.0";

// The watchdog timeout of the Java clients, and the lease of ours where both renew.
inline constexpr std::chrono::milliseconds brisk_lease{2'000};

// A new process. Its watchdog timeout is `watchdog`.
[[nodiscard]] std::unique_ptr<peer> start_redisson(const std::string& version,
                                                   std::chrono::milliseconds watchdog = brisk_lease);
// One for all tests: it takes Java a second to start. The watchdog timeout is brisk_lease.
[[nodiscard]] peer& redisson(const std::string& version);

// Those who do SET NX PX and compare-and-delete: a new process, by the name of the function.
[[nodiscard]] std::unique_ptr<peer> start_poller(const std::string& name);
// One process each for all tests.
[[nodiscard]] peer& redis_py();
[[nodiscard]] peer& redsync();
[[nodiscard]] peer& node_redlock();

}  // namespace holdfast::test
