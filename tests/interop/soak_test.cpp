// Two holdfast processes and those of other clients, some threads each, use shared locks in random ways. Now
// and then one of them is killed and starts again. At the end no update is lost and nothing stays behind.
//
// Redisson's kinds are shared with two Java processes, one of each version; a mutex with redis-py, redsync
// and node-redlock. It takes ten seconds for all of Redisson's kinds together, and for the mutex. With
// HOLDFAST_SOAK_SECONDS=60 in the environment each kind alone takes that long.
#include "interop/soak.hpp"
#include "interop/java_scene.hpp"

#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

namespace holdfast::test {
namespace {

const std::vector<std::string> shared_with_java{"recursive", "fair", "fenced", "shared"};

std::vector<soak_plan> plans() {
    const char* seconds = std::getenv("HOLDFAST_SOAK_SECONDS");
    const std::chrono::seconds time{seconds == nullptr ? 10 : std::atol(seconds)};
    std::vector<soak_plan> all{
        {.kinds = {plain_shared.java}, .others = pollers, .time = time, .threads = 3, .pause = 30ms}};
    if (seconds == nullptr) {
        all.push_back({.kinds = shared_with_java, .others = redissons, .time = time});
    } else {
        for (const auto& kind : shared_with_java)
            all.push_back({.kinds = {kind}, .others = redissons, .time = time});
    }
    return all;
}

std::string joined(const std::vector<std::string>& words) {
    return std::accumulate(std::next(words.begin()), words.end(), words.front(),
                           [](const std::string& all, const std::string& word) { return all + "," + word; });
}

bool is_java(const std::string& who) { return std::ranges::find(redissons, who) != redissons.end(); }
// The key suffix that counts its turns.
std::string side_of(const std::string& who) { return is_java(who) ? ":java" : ":" + who; }

// One participant, started again after each kill.
class contender {
  public:
    contender(const soak_plan& plan, std::string who) : plan_(plan), who_(std::move(who)) {}

    // Java takes seconds, which are not to be a part of the plan's time.
    void prepare() {
        if (is_java(who_)) java_ = start_redisson(interop_server(), who_, plan_.lease);
    }
    void begin(milliseconds left) {
        soak_plan rest = plan_;
        rest.time = left;
        if (!is_java(who_)) {
            // A poller that it has started dies with it.
            child_.emplace(child_process::fork_call(
                [rest, who = who_](const parent_link& parent) { return soak(parent, rest, who); }));
        } else {
            at_work_.emplace(java_->ask("soak", "run", "soak", joined(rest.kinds),
                                        {rest.threads, rest.lease.count(), rest.time.count()}));
        }
    }
    void kill() {
        if (child_) child_->kill();
        if (java_) java_->process().kill();
    }
    [[nodiscard]] bool finished() { return java_ ? at_work_->ready() : !child_->running(); }
    // Throws the error that it reports.
    void finish() {
        if (java_) {
            at_work_->get();
        } else if (child_->wait(patience) != 0) {
            throw std::runtime_error{who_ + ": " + child_->output() + child_->errors()};
        }
    }

  private:
    const soak_plan& plan_;
    std::string who_;
    std::optional<child_process> child_;
    std::unique_ptr<peer> java_;
    std::optional<peer::request> at_work_;
};

class soak_test : public ::testing::TestWithParam<soak_plan> {
  protected:
    [[nodiscard]] std::string count(const std::string& key) { return server.command({"GET", key}).text; }

    redis_server& server = interop_server();
};

TEST_P(soak_test, no_update_is_lost_and_nothing_stays_behind) {
    const soak_plan& plan = GetParam();
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    std::vector<contender> all;
    std::set<std::string> sides;
    auto taking_part = plan.others;
    taking_part.insert(taking_part.end(), 2, ourselves);
    for (const auto& who : taking_part) {
        all.emplace_back(plan, who);
        sides.insert(side_of(who));
    }
    for (auto& one : all) one.prepare();
    const auto end = std::chrono::steady_clock::now() + plan.time;
    const auto left = [&] {
        return std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
    };
    for (auto& one : all) one.begin(left());
    // A victim's leases expire before the next kill, or there would be more waiting than work.
    const auto next_kill = [&] {
        return std::chrono::steady_clock::now() + plan.lease + milliseconds{random() % 1000};
    };
    for (auto when = next_kill(); when < end - plan.lease; when = next_kill()) {
        auto& victim = all[random() % all.size()];
        EXPECT_TRUE(eventually(1h, [&] { return std::chrono::steady_clock::now() >= when; }));
        victim.kill();
        victim.prepare();
        victim.begin(left());
    }

    client c{[&] {
        config brisk = settings(server.url());
        brisk.redis.fair_liveness = plan.lease;
        return brisk;
    }()};
    // The next client acquires each lock and cleans up after killed waiters. Java's threads alone would wait
    // behind a dead one in a fair queue for five minutes.
    const auto acquire_each_kind = [&] {
        for (const auto& kind : plan.kinds)
            EXPECT_TRUE(soak_lock(c, kind)->try_acquire_for(patience)) << kind;
    };
    const auto all_finished = [&] {
        acquire_each_kind();
        return std::all_of(all.begin(), all.end(), [](contender& one) { return one.finished(); });
    };
    EXPECT_TRUE(eventually(left() + 2 * patience, all_finished));
    for (auto& one : all) EXPECT_NO_THROW(one.finish());
    acquire_each_kind();

    for (const auto& kind : plan.kinds) {
        const std::string name = soak_name(kind);
        EXPECT_EQ(count(name + ":counter"), count(name + ":tally"));
        for (const auto& side : sides) {
            EXPECT_FALSE(count(name + side).empty()) << side << " never got in";
            std::printf("%s%s entered %s times\n", name.c_str(), side.c_str(), count(name + side).c_str());
        }
        for (const auto* key : {":counter", ":tally"}) server.command({"DEL", name + key});
        for (const auto& side : sides) server.command({"DEL", name + side});
    }
    std::vector<std::string> leftovers;
    EXPECT_TRUE(eventually(patience, [&] {
        leftovers = server.keys();
        std::erase_if(leftovers, [&](const std::string& key) {
            return key.find("soak:") == std::string::npos ||
                   // A counter that must never be lost, and what Redisson 3.52 to 4.2 leave for seconds.
                   key == "redisson_lock_token:{soak:fenced}" ||
                   (key.starts_with("redisson_unlock_latch:") && pttl(server, key) > 0ms);
        });
        return leftovers.empty();
    })) << ::testing::PrintToString(leftovers);
}

INSTANTIATE_TEST_SUITE_P(, soak_test, ::testing::ValuesIn(plans()),
                         [](const ::testing::TestParamInfo<soak_plan>& p) {
                             return p.param.kinds.size() > 1 ? std::string{"all_kinds"}
                                                             : p.param.kinds.front();
                         });

}  // namespace
}  // namespace holdfast::test
