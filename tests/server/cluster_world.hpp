// Shared by the tests on a cluster.
#pragma once

#include "server/scene.hpp"
#include "support/cluster_scene.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace holdfast::test {

// One cluster for all tests of the process that leave it as they found it.
class cluster_world : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        static const auto* const until_the_end = ::testing::AddGlobalTestEnvironment(new end_of_it);
        (void)until_the_end;
        if (!scene_) scene_ = std::make_unique<cluster_scene>();
    }
    static cluster_scene& scene() { return *scene_; }

    [[nodiscard]] static config usual(milliseconds lease = 30s) { return settings(scene().url(), lease); }
    // Its waiters poll only after the lease, so a message caused any earlier wake-up.
    [[nodiscard]] static config deaf_to_time(const std::string& options = {}) {
        auto c = settings(scene().url() + options);
        c.poll_gap = 30s;
        return c;
    }

  private:
    struct end_of_it : ::testing::Environment {
        void TearDown() override { scene_.reset(); }
    };
    static inline std::unique_ptr<cluster_scene> scene_;
};

// A client waits for the lock: it is in the queue, or listens to a channel that is named after the lock.
[[nodiscard]] inline bool is_waited_for(cluster_scene& cluster, const std::string& name) {
    auto& server = cluster.master_of(name);
    if (queued(server, name) > 0) return true;
    for (const auto* which : {"SHARDCHANNELS", "CHANNELS"})
        if (!server.command({"PUBSUB", which, "*{" + name + "}*"}).items.empty()) return true;
    return false;
}
[[nodiscard]] inline bool waits_in(cluster_scene& cluster, const std::string& name) {
    return eventually(patience, [&] { return is_waited_for(cluster, name); });
}

// How often a command was run, by all servers together.
inline std::int64_t calls_of(cluster_scene& cluster, const std::string& command) {
    std::int64_t sum = 0;
    for (const auto n : cluster.masters()) {
        const auto info = cluster.server(n).command({"INFO", "commandstats"}).text;
        const auto what = "cmdstat_" + command + ":calls=";
        if (const auto at = info.find(what); at != std::string::npos)
            sum += std::stoll(info.substr(at + what.size()));
    }
    return sum;
}

// Two clients that take a lock in turns, and whether two ever had it at once.
template <class Kind>
class contest {
  public:
    contest(const config& with, const std::string& name) : clients_{client{with}, client{with}} {
        for (auto& c : clients_) threads_.emplace_back([this, &c, name] { play(c, name); });
    }
    contest(const contest&) = delete;
    contest& operator=(const contest&) = delete;
    ~contest() { end(); }

    void end() {
        over_ = true;
        for (auto& t : threads_)
            if (t.joinable()) t.join();
    }
    [[nodiscard]] bool gets(int more) const {
        const auto from = turns_.load();
        return eventually(patience, [&] { return turns_ >= from + more; });
    }
    [[nodiscard]] int overlaps() const { return overlaps_; }
    // For a test that fails: the errors of failed attempts, and how often each came.
    [[nodiscard]] std::string errors() const {
        const std::lock_guard hold{mutex_};
        std::string all;
        for (const auto& [text, times] : failures_) all += text + " (" + std::to_string(times) + ")\n";
        return all;
    }

  private:
    void play(client& c, const std::string& name) {
        auto lock = Kind::make(c, name);
        while (!over_) {
            std::error_code ec;
            auto mine = lock.try_acquire_for(500ms, ec);
            if (!mine) {  // the other client holds it, or its state is unknown
                const std::lock_guard hold{mutex_};
                ++failures_[ec.message()];
                continue;
            }
            if (inside_.fetch_add(1) != 0 && mine.valid()) ++overlaps_;
            std::this_thread::yield();
            const bool was_mine = mine.valid();
            if (inside_.fetch_sub(1) != 1 && was_mine) ++overlaps_;
            (void)mine.release();
            ++turns_;
        }
    }

    std::array<client, 2> clients_;
    std::atomic<bool> over_{false};
    std::atomic<int> inside_{0};
    std::atomic<int> overlaps_{0};
    std::atomic<int> turns_{0};
    mutable std::mutex mutex_;
    std::map<std::string, int> failures_;
    std::vector<std::thread> threads_;
};

}  // namespace holdfast::test
