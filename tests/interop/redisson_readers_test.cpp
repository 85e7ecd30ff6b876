// Readers and writers of both languages on one RReadWriteLock.
#include "interop/java_scene.hpp"

namespace holdfast::test {
namespace {

class readers_and_writers : public java_scene {
  protected:
    [[nodiscard]] bool waits(std::int64_t n = 1) const { return writing_shared.waits(name, n); }
    bool java_may(std::string_view kind) {
        if (tell_java("try", "try", kind) != "true") return false;
        tell_java("try", "unlock", kind);
        return true;
    }
    bool we_may_write() { return static_cast<bool>(lock.try_acquire()); }
    bool we_may_read() { return static_cast<bool>(lock.try_acquire_shared()); }

    shared_mutex lock{c, name};
};

TEST_P(readers_and_writers, a_java_that_has_just_asked_hears_our_writer_leave) {
    for (int i = 0; i < 60; ++i) {
        lease held = lock.acquire();
        auto waiter = ask_java("a", "lock", "write");
        // It has subscribed, and asks once more before it goes to sleep.
        ASSERT_TRUE(waits());
        EXPECT_TRUE(held.release());
        ASSERT_TRUE(waiter.ready(5s)) << "round " << i;
        tell_java("a", "unlock", "write");
    }
}

INSTANTIATE_TEST_SUITE_P(, readers_and_writers, both_redissons(), version_name);

}  // namespace
}  // namespace holdfast::test
