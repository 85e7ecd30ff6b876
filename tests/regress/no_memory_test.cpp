// The system has no memory for a while: nothing may end the process, and what failed is tried again.
#include "server/scene.hpp"

#include <atomic>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <netdb.h>

namespace {

constexpr const char* host_without_memory = "localhost";
std::atomic<bool> memory_is_gone{false};
std::atomic<int> asked_without_memory{0};

}  // namespace

// In place of the system's, for all of this program. What follows it needs memory too.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    if (memory_is_gone && node != nullptr && std::strcmp(node, host_without_memory) == 0) {
        ++asked_without_memory;
        throw std::bad_alloc{};
    }
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(node, service, hints, found);
}

namespace holdfast::test {
namespace {

TEST(no_memory_is_left_for, the_resolver_so_the_connection_is_tried_again_later) {
    redis_server server;
    auto how = settings(std::string{"redis://"} + host_without_memory + ":" + std::to_string(server.port()));
    how.answer_timeout = 300ms * slower;
    client c{how};
    const diary told{c};
    mutex one{c, "one"};
    ASSERT_TRUE(told.has(event_kind::store_up));
    memory_is_gone = true;
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(told.has(event_kind::store_down));
    EXPECT_TRUE(eventually(patience, [] { return asked_without_memory >= 2; })) << "it tries again";
    memory_is_gone = false;
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(one.try_acquire(ec));
    }));
}

}  // namespace
}  // namespace holdfast::test
