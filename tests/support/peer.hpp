// Clients in other languages, each a small program that carries out requests.
//
// A request is a line and so is its answer; answers may come in another order:
//
//     <id> <thread> <verb> <kind> <name> [argument...]         <id> ok [value]         <id> failed <error>
//
// Requests of one thread run one after another, those of different threads at once: while one waits for a
// lock, others go on. Where owners are threads (Java), each thread of the requests is a real one. The first
// answer has the id 0 and says that the program is ready. The program ends at once when its standard input
// ends, as in a crash.
//
// Locks: lock [lease], try [wait [lease]], unlock; for Redisson also try_async, force, locked, held, holds,
// owner, lock_fence, try_fence, fence. Times are milliseconds; a lease of 0 is none, and then Redisson
// renews. Redisson has verbs for its semaphores and its latch too: see interop/redisson/Peer.java.
//
// Several servers: the peers of redsync and node-redlock lock on all servers that they are started with.
// Redisson opens more by "open <several | cluster> <address,...>": the kinds multi and red then combine one
// RLock on each of the several, and kinds such as cluster.recursive are locks of the cluster.
//
// Measurements: in pairs <threads> <until>, each thread locks and unlocks a lock of its own, <name>:<i>,
// until the wall clock shows that many ms. In turns <threads> <until>, all threads share one lock, whose name
// is the path of a file; the holder adds one to the decimal number in it. Both answer the number of locks in
// all. Redisson also has hold <n> and drop <n>, for the locks <name>:<i>.
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

    // A request under way. It may be dropped.
    class request {
      public:
        // Whether the peer answers within the limit.
        [[nodiscard]] bool ready(milliseconds limit = milliseconds{0});
        // The answer without the "ok". Throws if the peer answers "failed", or nothing.
        std::string get();
        // The reason in a "failed" answer. Throws if the peer answers "ok", or nothing.
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

    // The text of its first answer: for Redisson the client's uuid.
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

// The watchdog timeout of the Java clients, and the lease of our clients where both renew.
inline constexpr std::chrono::milliseconds brisk_lease{2'000};

enum class java_for {
    tests,      // starts fast, with little memory and few threads
    measuring,  // as the libraries and the JVM are by default
};

// Whether fetch.sh has fetched this client: "redisson-4.7.0", "redis_py", "curator".
[[nodiscard]] bool is_fetched(const std::string& client);

// A new process that is a client of that server. `watchdog` is the watchdog timeout of Redisson's locks
// without a lease.
[[nodiscard]] std::unique_ptr<peer> start_redisson(const redis_server&, const std::string& version,
                                                   std::chrono::milliseconds watchdog = brisk_lease,
                                                   java_for = java_for::tests);
// A client that locks by SET NX PX and unlocks by compare-and-delete: redis_py, redsync or node_redlock. With
// several servers (not redis_py) its lock needs a majority of them.
[[nodiscard]] std::unique_ptr<peer> start_poller(std::span<const redis_server> servers,
                                                 const std::string& name);
[[nodiscard]] inline std::unique_ptr<peer> start_poller(const redis_server& server, const std::string& name) {
    return start_poller({&server, 1}, name);
}

// A client that locks in ZooKeeper: curator, kazoo, plain_kazoo (without Curator's names) or gozk. It knows
// lock, try (not gozk), unlock and turns; curator also what interop/curator/CuratorPeer.java lists.
[[nodiscard]] std::unique_ptr<peer> start_in_zookeeper(const std::string& hosts, const std::string& name,
                                                       std::chrono::milliseconds session,
                                                       java_for = java_for::tests);

// ShedLock in a database. It knows lock, try, extend, unlock and turns.
[[nodiscard]] std::unique_ptr<peer> start_shedlock(const std::string& jdbc_url, const std::string& user);

// Two owners want a lock that an upsert takes (upsert/UpsertLock.java): a line for each, with the rows that
// the driver reported.
[[nodiscard]] child_process start_upserts(const std::string& jdbc_url, const std::string& user);

}  // namespace holdfast::test
