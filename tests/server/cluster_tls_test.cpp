// rediss+cluster://: no connection to any server of the cluster is in the clear.
#include "server/cluster_world.hpp"
#include "server/doctor_scene.hpp"
#include "support/certificates.hpp"

namespace holdfast::test {
namespace {

class cluster_over_tls : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder_ = std::make_unique<temp_dir>();
        ca_ = std::make_unique<certificate_authority>(folder_->path(), "ca");
        cluster_scene::options o;
        o.replicas = false;
        o.secured = redis_server::tls{ca_->issue("server", "IP:127.0.0.1"), ca_->file(),
                                      redis_server::client_certificates::unwanted};
        scene_ = std::make_unique<cluster_scene>(o);
    }
    static void TearDownTestSuite() {
        scene_.reset();
        ca_.reset();
        folder_.reset();
    }
    static cluster_scene& scene() { return *scene_; }
    static const certificate_authority& ca() { return *ca_; }
    static std::string folder() { return folder_->path(); }

  private:
    static inline std::unique_ptr<temp_dir> folder_;
    static inline std::unique_ptr<certificate_authority> ca_;
    static inline std::unique_ptr<cluster_scene> scene_;
};

TEST_F(cluster_over_tls, locks_in_all_slots_and_wakes_waiters) {
    auto slow_to_poll = settings(scene().url());
    slow_to_poll.poll_gap = 30s;
    client a{slow_to_poll};
    client b{slow_to_poll};
    for (const auto n : scene().masters()) {
        const auto name = scene().key_on(n, "secret:");
        mutex mine{a, name};
        mutex theirs{b, name};
        auto held = mine.acquire();
        EXPECT_TRUE(scene().exists(name));
        auto waiting = waiter_for(theirs);
        ASSERT_TRUE(waits_in(scene(), name));
        EXPECT_FALSE(ready(waiting, 50ms));
        EXPECT_EQ(held.release(), release_outcome::released);
        ASSERT_TRUE(ready(waiting, patience)) << name;
        EXPECT_EQ(waiting.get().release(), release_outcome::released);
    }
    // No client of ours connects in the clear.
    for (std::size_t n = 0; n < scene().size(); ++n) {
        const auto list = scene().server(n).command({"CLIENT", "LIST"}).text;
        std::istringstream lines{list};
        for (std::string line; std::getline(lines, line);) {
            if (line.find("name=holdfast:") == std::string::npos) continue;
            EXPECT_NE(line.find(" laddr=127.0.0.1:" + std::to_string(scene().server(n).tls_port()) + " "),
                      std::string::npos)
                << line;
        }
        EXPECT_NE(list.find("name=holdfast:"), std::string::npos);
    }
}

TEST_F(cluster_over_tls, follows_a_slot_that_moves) {
    client c{settings(scene().url())};
    const std::string name = "moving";
    mutex lock{c, name};
    auto held = lock.acquire();
    const auto slot = scene().slot_of(name);
    scene().move(slot, scene().another_master(slot));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

TEST_F(cluster_over_tls, rejects_an_untrusted_certificate_and_a_port_without_tls) {
    // An authority that did not sign the certificate.
    const certificate_authority other{folder(), "other"};
    auto url = scene().url();
    url.replace(url.find("?ca="), std::string::npos, "?ca=" + other.file());
    const auto refused = [](const std::string& at) -> std::string {
        try {
            client c{settings(at)};
            mutex lock{c, "x"};
            (void)lock.try_lock();
        } catch (const error& e) {
            EXPECT_TRUE(e.code() == condition::misuse || e.code() == errc::unavailable) << e.what();
            return e.what() + (" " + e.server_text());
        }
        ADD_FAILURE() << at << " works";
        return {};
    };
    EXPECT_NE(refused(url).find("certificate"), std::string::npos) << refused(url);
    // The port without TLS.
    const auto plain = "rediss+cluster://127.0.0.1:" + std::to_string(scene().server(0).port()) +
                       "?ca=" + ca().file() + "&connect_timeout=500ms";
    EXPECT_NE(refused(plain).find("TLS"), std::string::npos) << refused(plain);
    EXPECT_FALSE(scene().exists("x"));
}

TEST_F(cluster_over_tls, doctor_examines_all_servers_over_tls) {
    const auto all = examined(scene().url());
    EXPECT_EQ(all.servers.size(), 3u) << all_of(all);
    EXPECT_EQ(found(all, "tls-version").size(), 3u);
    EXPECT_EQ(found(all, "plaintext").size(), 0u);
    EXPECT_EQ(worst_of(all, "unreachable"), std::nullopt) << all_of(all);
}

}  // namespace
}  // namespace holdfast::test
