// A resource that refuses a stale writer: here Redis keeps the data, and a script compares the fences.
#include <holdfast/fence_check.hpp>
#include <holdfast/holdfast.hpp>

#include <hiredis/hiredis.h>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace {

// A connection of the program's own: holdfast's is for locks.
class storage {
  public:
    storage(const char* host, int port) : c_(redisConnect(host, port), &redisFree) {}

    //[fenced_write
    // True: written. False: a writer with a newer fence came first.
    bool write(std::string_view balance, holdfast::fence by) {
        const auto script = std::string{holdfast::redis_fenced_set};
        const auto fence = holdfast::to_text(by);
        const std::unique_ptr<redisReply, void (*)(void*)> reply{
            static_cast<redisReply*>(
                redisCommand(c_.get(), "EVAL %s 2 {account}:balance {account}:fence %s %b", script.c_str(),
                             fence.c_str(), balance.data(), balance.size())),
            &freeReplyObject};
        if (!reply || reply->type != REDIS_REPLY_INTEGER)
            throw std::runtime_error("the storage does not answer");
        return reply->integer == 1;
    }
    //]

  private:
    std::unique_ptr<redisContext, void (*)(redisContext*)> c_;
};

}  // namespace

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    const int port = argc > 1 ? std::stoi(argv[1]) : 6379;
    holdfast::client locks{"redis://127.0.0.1:" + std::to_string(port)};
    holdfast::mutex turn{locks, "account", {.ttl = 100ms, .fenced = true}};
    storage data{"127.0.0.1", port};

    holdfast::lease slow = turn.acquire();
    while (slow.valid()) {
        // Work that takes longer than the lease: a stopped process, a long garbage collection, a slow disk.
    }
    holdfast::lease next = turn.acquire();
    const bool first = data.write("by the next holder", next.fence());
    const bool late = data.write("by the slow one", slow.fence());
    std::cout << "the late write was " << (late ? "accepted" : "refused") << '\n';
    return first && !late ? 0 : 1;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
