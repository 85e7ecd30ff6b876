// The system has no memory for a while: the process must not end, and the client tries again.
#include "server/scene.hpp"

#include <atomic>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <netdb.h>

namespace {

constexpr const char* host_without_memory = "localhost";
std::atomic<bool> memory_is_gone{false};
std::atomic<int> failed_lookups{0};

}  // namespace

// Replaces the system's function in this whole program. The code that follows a call needs memory, too.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    if (memory_is_gone && node != nullptr && std::strcmp(node, host_without_memory) == 0) {
        ++failed_lookups;
        throw std::bad_alloc{};
    }
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(node, service, hints, found);
}

namespace holdfast::test {
namespace {

TEST(no_memory_left, client_reconnects_after_the_resolver_failed) {
    redis_server server;
    auto how = settings(std::string{"redis://"} + host_without_memory + ":" + std::to_string(server.port()));
    how.answer_timeout = 300ms * slower;
    client c{how};
    const event_recorder events{c};
    mutex one{c, "one"};
    ASSERT_TRUE(events.has(event_kind::store_up));
    memory_is_gone = true;
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(events.has(event_kind::store_down));
    EXPECT_TRUE(eventually(patience, [] { return failed_lookups >= 2; })) << "the client tries again";
    memory_is_gone = false;
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(one.try_acquire(ec));
    }));
}

}  // namespace
}  // namespace holdfast::test
