// Fences: how a resource refuses a writer that did not notice the end of its lease.
#include <holdfast/holdfast.hpp>

#include <cstdint>
#include <iostream>
#include <string>

//[fenced
// The resource remembers the newest fence it has seen and refuses older ones. In a database this is
// "UPDATE ... WHERE last_fence <= :fence"; the check must be in the resource, not in the writer.
class ledger {
  public:
    bool write(const std::string& line, holdfast::fence by) {
        if (holdfast::to_number(by) < newest_) return false;
        newest_ = holdfast::to_number(by);
        std::cout << "written: " << line << '\n';
        return true;
    }

  private:
    std::uint64_t newest_ = 0;
};
//]

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    holdfast::client locks{argc > 1 ? argv[1] : "redis://127.0.0.1:6379"};
    holdfast::mutex turn{locks, "ledger", {.ttl = 100ms, .fenced = true}};

    ledger book;
    holdfast::lease slow = turn.acquire();
    while (slow.valid()) {
        // Work that takes longer than the lease: a stopped process, a long garbage collection, a slow disk.
    }
    holdfast::lease next = turn.acquire();  // the lock is free again, and somebody else takes it
    const bool first = book.write("by the next holder", next.fence());
    const bool late = book.write("by the slow one", slow.fence());
    std::cout << "the late write was " << (late ? "accepted" : "refused") << '\n';
    return first && !late ? 0 : 1;
} catch (const holdfast::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
