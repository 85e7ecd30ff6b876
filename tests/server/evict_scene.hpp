// Shared by the tests of evict: a client that holds a lock, and one that evicts it.
#pragma once

#include "server/scene.hpp"

#include <string>

namespace holdfast::test {

// For holders that must confirm, also on a busy machine.
inline const evict_options unhurried{.wait = patience};

template <class Kind>
class evict_kinds : public ::testing::Test {
  protected:
    // The client receives messages from now on, like one that has waited once.
    void make_listen(client& c) {
        auto other = mutex{c, "waited for"};
        server.command({"SET", "waited for", "foreign", "PX", "60000"});
        auto waiting = waiter_for(other);
        ASSERT_TRUE(eventually(patience, [&] { return queued(server, "waited for") == 1; }));
        server.command({"DEL", "waited for"});
        ASSERT_TRUE(waiting.get());
    }

    // A user without the right to listen or to send messages.
    std::string without_channels() {
        server.command({"ACL", "SETUSER", "mute", "on", ">word", "~*", "resetchannels", "+@all"});
        return "redis://mute:word@127.0.0.1:" + std::to_string(server.port());
    }

    redis_server server;
    client holders{settings(server.url())};
    client operators{settings(server.url())};
};

class evict_test : public evict_kinds<plain> {};

}  // namespace holdfast::test
