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
// renews. Redisson has verbs for its semaphores and its latch too: see interop/redisson/Peer.java.
//
// Several servers: the peers of redsync and node-redlock lock on all that they are started with. Redisson
// opens more when it is told so, "open <several | cluster> <address,...>": then the kinds multi and red are a
// lock of one RLock on each of the several, and the kinds cluster.recursive and the like those of the
// cluster.
//
// Measuring: pairs <threads> <until>, each thread taking and giving back a lock of its own, <name>:<i>, until
// the wall clock shows that many ms; turns <threads> <until>, all of them one lock, whose name is the path of
// a file: who has the lock adds one to the decimal number in it. Both answer how often in all. Of Redisson
// also hold <n> and drop <n>: locks <name>:<i>.
#pragma once

#include "support/child_process.hpp"
#include "support/redis_server.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

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

enum class java_for {
    tests,      // starts soon, takes little memory and few threads
    measuring,  // as Redisson and the JVM are by default
};

// New processes, clients of that server. Of Redisson's locks without a lease, the watchdog timeout is
// `watchdog`.
[[nodiscard]] std::unique_ptr<peer> start_redisson(const redis_server&, const std::string& version,
                                                   std::chrono::milliseconds watchdog = brisk_lease,
                                                   java_for = java_for::tests);
// One of those who do SET NX PX and compare-and-delete: redis_py, redsync or node_redlock. With several
// servers (not redis_py) it has a lock that has most of them.
[[nodiscard]] std::unique_ptr<peer> start_poller(std::span<const redis_server> servers,
                                                 const std::string& name);
[[nodiscard]] inline std::unique_ptr<peer> start_poller(const redis_server& server, const std::string& name) {
    return start_poller({&server, 1}, name);
}

}  // namespace holdfast::test
