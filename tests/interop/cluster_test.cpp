// Redisson in cluster mode and our redis+cluster:// client on the same six servers. One test, since a cluster
// takes seconds to start and the tests of this binary run in several processes.
#include "interop/java_scene.hpp"
#include "server/cluster_world.hpp"

namespace holdfast::test {
namespace {

class redisson_in_a_cluster : public cluster_world {
  protected:
    void open(const std::string& mode) {
        std::string addresses;
        for (std::size_t i = 0; i < scene().size(); ++i)
            addresses += (i == 0 ? "" : ",") + scene().server(i).url();
        java.tell("main", "open", mode, addresses);
    }
    peer::request ask_java(std::string_view verb, const shared_kind& kind, const std::string& name) {
        return java.ask("a", verb, std::string{"cluster."} + kind.java, name);
    }
    std::string tell_java(std::string_view verb, const shared_kind& kind, const std::string& name) {
        return ask_java(verb, kind, name).get();
    }
    // Neither would poll before the end of the other's lease, which is much later: messages wake them.
    void exclude_and_wake_each_other(client& c, const shared_kind& kind, const std::string& name) {
        const any_lock lock = kind.make(c, name);
        tell_java("lock", kind, name);
        EXPECT_FALSE(lock->try_acquire());
        auto ours = waiter_for(*lock);
        ASSERT_TRUE(waits_in(scene(), name));
        EXPECT_FALSE(ready(ours, 50ms));
        stopwatch since;
        tell_java("unlock", kind, name);
        EXPECT_TRUE(ours.get().valid());
        ASSERT_LT(since.took(), slack);

        // A holder that had to wait listens until it has released; the test would take it for Java.
        ASSERT_TRUE(eventually(patience, [&] { return !is_waited_for(scene(), name); }));
        lease held = lock->acquire();
        EXPECT_EQ(tell_java("try", kind, name), "false");
        auto theirs = ask_java("lock", kind, name);
        ASSERT_TRUE(waits_in(scene(), name));
        EXPECT_FALSE(theirs.ready(50ms));
        since = {};
        EXPECT_TRUE(held.release());
        theirs.get();
        ASSERT_LT(since.took(), slack);
        tell_java("unlock", kind, name);
    }

    peer& java = redisson(newest_redisson);
};

TEST_F(redisson_in_a_cluster, both_clients_exclude_and_wake_each_other) {
    for (const auto& [mode, options] : {std::pair{"cluster", ""}, std::pair{"cluster_off", "?sharded=off"}}) {
        open(mode);
        client c{deaf_to_time(options)};
        for (const auto& kind : {recursive_shared, fair_shared, fenced_shared, writing_shared}) {
            for (const auto master : scene().masters()) {
                const auto name = scene().key_on(master, std::string{mode} + "." + kind.name + ".");
                SCOPED_TRACE(name);
                exclude_and_wake_each_other(c, kind, name);
                if (HasFatalFailure()) return;
            }
        }
    }
}

}  // namespace
}  // namespace holdfast::test
