// Evictions that wait for the clients of the holders: only the process that has a lock of flock(2) can free
// it.
#pragma once

#include "base/annotations.hpp"
#include "io/reactor.hpp"
#include "store/inspection.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::file_backend {

// Thread-safe. Calls handlers without a lock.
class evictions {
  public:
    using handler = backend::handler<backend::result<std::vector<backend::evicted>>>;

    explicit evictions(io::reactor& on) : reactor_(on) {}

    // Answers when all owners were reported, or at `until`: with `silent` if none of them was dropped.
    void begin(std::set<std::string> owners, backend::time_point until, backend::failure silent,
               handler done);
    // The client of the owner has dropped it, or did not hold it.
    enum class end { dropped, not_held };
    void report(const std::string& owner, end how);
    // Answers all that are left. Not on the reactor's thread.
    void close();

  private:
    struct one {
        std::set<std::string> open;
        std::vector<backend::evicted> dropped;
        backend::failure silent;
        handler done;
        io::timer_id timer;
    };
    static void answer(one& all);
    void time_is_up(std::uint64_t id);

    io::reactor& reactor_;
    base::mutex mutex_;
    std::map<std::uint64_t, one> all_ GUARDED_BY(mutex_);
    std::uint64_t next_ GUARDED_BY(mutex_) = 1;
};

}  // namespace holdfast::file_backend
