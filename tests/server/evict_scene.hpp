// What the tests of evict have in common: a client that holds, and one that takes the lock away.
#pragma once

#include "server/scene.hpp"

#include <string>

namespace holdfast::test {

template <class Kind>
class evict_of : public ::testing::Test {
  protected:
    // The client hears messages from now on, as one does that has waited once.
    void make_listen(client& c) {
        auto other = mutex{c, "waited for"};
        server.command({"SET", "waited for", "foreign", "PX", "60000"});
        auto waiting = waiter_for(other);
        ASSERT_TRUE(eventually(patience, [&] { return queued(server, "waited for") == 1; }));
        server.command({"DEL", "waited for"});
        ASSERT_TRUE(waiting.get());
    }

    // A user who can neither listen nor send messages.
    std::string without_channels() {
        server.command({"ACL", "SETUSER", "mute", "on", ">word", "~*", "resetchannels", "+@all"});
        return "redis://mute:word@127.0.0.1:" + std::to_string(server.port());
    }

    redis_server server;
    client holders{settings(server.url())};
    client operators{settings(server.url())};
};

class evict_from : public evict_of<plain> {};

}  // namespace holdfast::test
