// A host name that does not resolve must not hold up anything else (redis/connection/connector.hpp).
#include "server/scene.hpp"

#include <atomic>
#include <cstring>

#include <dlfcn.h>
#include <netdb.h>

namespace {

constexpr const char* slow_name = "resolved.never.test";
std::atomic<int> asked{0};
std::atomic<bool> may_answer{false};

}  // namespace

// Replaces the system's function in this whole program.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
    if (node != nullptr && std::strcmp(node, slow_name) == 0) {
        ++asked;
        may_answer.wait(false);
        --asked;
        return EAI_AGAIN;
    }
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(node, service, hints, found);
}

namespace holdfast::test {
namespace {

TEST(slow_resolver, delays_neither_a_try_nor_the_end_of_the_client) {
    const stopwatch since;
    {
        config c = settings(std::string{"redis://"} + slow_name + ":6379");
        c.answer_timeout = 300ms * slower;
        client nowhere{c};
        mutex lock{nowhere, "job"};
        EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::unavailable);
    }
    EXPECT_LT(since.took(), 300ms * slower + slack);
    EXPECT_GE(asked.load(), 1);  // a call still waits
    may_answer = true;
    may_answer.notify_all();
    EXPECT_TRUE(eventually(patience, [] { return asked == 0; }));
}

}  // namespace
}  // namespace holdfast::test
